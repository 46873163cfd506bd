"""The ranks of every server as they are now, and the epoch each server is in."""

from __future__ import annotations

from functools import partial

from forensics.lab.config import LabConfig
from forensics.lab.engines import DecodeRank, PrefillRank
from forensics.lab.loop import Loop
from forensics.lab.records import Epoch, Handoff, NodeHistory, Probe
from forensics.lab.stale import PROBE


class Machines:
    """Servers that start, restart with an empty pool, and answer probes."""

    def __init__(self, config: LabConfig, nodes: tuple[NodeHistory, ...], loop: Loop) -> None:
        self._config = config
        self._loop = loop
        self._epochs: dict[str, Epoch] = {}
        self._prefill: dict[tuple[str, int], PrefillRank] = {}
        self._decode: dict[tuple[str, int], DecodeRank] = {}
        for node in nodes:
            for epoch in node.epochs:
                loop.at(epoch.effective_at, partial(self._start, node, epoch))

    def prefill(self, handoff: Handoff) -> PrefillRank:
        """Return the prefill rank of `handoff`."""
        return self._prefill[handoff.prefill_node, handoff.prefill_rank]

    def decode(self, handoff: Handoff) -> DecodeRank:
        """Return the decode rank of `handoff`."""
        return self._decode[handoff.decode_node, handoff.decode_rank]

    def epoch(self, node: str) -> Epoch:
        """Return the epoch that `node` is in."""
        return self._epochs[node]

    def input_limit(self, node: str) -> int:
        """Return the smallest prompt that `node` rejects now, in tokens."""
        return self._epochs[node].input_limit(self._config.context_tokens)

    def probe(self, probe: Probe) -> None:
        """Fill one page for a moment, as a health check does."""
        key = (probe.node, probe.rank)
        pool = (self._prefill[key] if probe.role == "prefill" else self._decode[key]).pool
        if pool.available:
            page = pool.take_prompt(probe.prompt_tokens, self._config.page_tokens, 1)
            pool.write(page, PROBE)
            self._loop.at(probe.released_at, partial(pool.give_back, page))

    def _start(self, node: NodeHistory, epoch: Epoch) -> None:
        """Give every rank a new pool: what the old one held is gone."""
        self._epochs[node.name] = epoch
        for rank in range(node.ranks):
            key = (node.name, rank)
            before = self._prefill.get(key) or self._decode.get(key)
            if before is not None and not before.idle:
                raise RuntimeError(f"{node.name} restarts with requests in flight: drain longer")
            if node.role == "prefill":
                self._prefill[key] = PrefillRank(epoch.pool_tokens, self._config.page_tokens)
            else:
                self._decode[key] = DecodeRank(epoch.pool_tokens, self._config.page_tokens)
