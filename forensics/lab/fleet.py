"""The servers of a run, their epochs, and which of them take traffic when."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from forensics.lab.clock import MINUTE, Micros
from forensics.lab.config import LabConfig, Restart, Role
from forensics.lab.records import Epoch, NodeHistory


def build(config: LabConfig) -> tuple[NodeHistory, ...]:
    """Return every server with its epochs, prefill first."""
    prefill = [_node(config, "prefill", n + 1) for n in range(config.prefill_nodes)]
    decode = [_node(config, "decode", n + 1) for n in range(config.decode_nodes)]
    return (*prefill, *decode)


def _node(config: LabConfig, role: Role, number: int) -> NodeHistory:
    pool = config.first_pool_tokens if role == "prefill" else config.decode_pool_tokens
    epochs = [
        Epoch(
            effective_at=config.start + _offset(role, number),
            pool_tokens=pool,
            settings=replace(config.settings, dp_size=config.ranks),
            engine_version=config.engine_version,
            hands_over_rejected=config.faulty_rejection,
        )
    ]
    for restart in sorted(config.restarts, key=lambda item: item.at):
        if restart.role == role and (not restart.nodes or number in restart.nodes):
            epochs.append(_restarted(epochs[-1], restart, number))
    if config.fix_at is not None:
        epochs.append(_fixed(config, epochs[-1], config.fix_at + _offset(role, number)))
    return NodeHistory(f"{role}-{number:02d}", role, config.ranks, tuple(epochs))


def _offset(role: Role, number: int) -> Micros:
    return (2 * number + (role == "decode")) * MINUTE // 2


def _restarted(before: Epoch, restart: Restart, number: int) -> Epoch:
    return replace(
        before,
        effective_at=restart.at + (number - 1) * restart.stagger,
        pool_tokens=restart.pool_tokens or before.pool_tokens,
        settings=replace(restart.settings, dp_size=before.settings.dp_size),
    )


def _fixed(config: LabConfig, before: Epoch, at: Micros) -> Epoch:
    return replace(
        before,
        effective_at=at,
        pool_tokens=max(before.pool_tokens, config.large_pool_tokens),
        settings=replace(config.fixed_settings, dp_size=before.settings.dp_size),
        engine_version=f"{config.engine_version}+retire-at-admission",
        hands_over_rejected=False,
    )


class Router:
    """Chooses the pair of ranks for a hand-off; draining and booting nodes take none."""

    def __init__(self, config: LabConfig, nodes: tuple[NodeHistory, ...]) -> None:
        self._config = config
        self._by_role = {
            role: [node for node in nodes if node.role == role] for role in ("prefill", "decode")
        }

    def pair(
        self, instant: Micros, session: int, transfer_id: int, rng: Random
    ) -> tuple[NodeHistory, int, NodeHistory, int]:
        """Return prefill node and rank, decode node and rank.

        Seven conversations in ten stay with their prefill node; the prefill rank follows
        from the transfer id, as in the engine's default balancing.
        """
        prefill, decode = self._open("prefill", instant), self._open("decode", instant)
        affine = rng.random() < 0.7
        draw = rng.getrandbits(30)
        node = prefill[(session if affine else draw) % len(prefill)]
        other = decode[rng.getrandbits(30) % len(decode)]
        return node, transfer_id % node.ranks, other, rng.randrange(other.ranks)

    def takes_traffic(self, node: NodeHistory, instant: Micros) -> bool:
        """Whether `node` is neither draining before a restart nor starting."""
        return not any(
            epoch.effective_at - self._config.drain * (number > 0)
            <= instant
            < epoch.effective_at + self._config.boot
            for number, epoch in enumerate(node.epochs)
        )

    def _open(self, role: Role, instant: Micros) -> list[NodeHistory]:
        nodes = [n for n in self._by_role[role] if self.takes_traffic(n, instant)]
        if not nodes:
            raise RuntimeError(f"no {role} node takes traffic; plan an outage instead")
        return nodes
