"""Health checks and warm-ups: they look like a placeholder prefill and are no requests."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from forensics.lab.clock import MILLISECOND, SECOND, Micros
from forensics.lab.config import LabConfig
from forensics.lab.fleet import Router
from forensics.lab.records import NodeHistory, Probe

_WARM_UP_TOKENS = 4


def plan_probes(
    config: LabConfig, nodes: tuple[NodeHistory, ...], router: Router
) -> tuple[Probe, ...]:
    """Return every probe in order of time: one warm-up a rank and start, then regular checks."""
    rng = Random(f"{config.seed}:probes")
    probes = [probe for node in nodes for probe in _warm_ups(node, rng)]
    probes += [probe for node in nodes for probe in _checks(config, node, router, rng)]
    return tuple(sorted(probes, key=lambda probe: (probe.received_at, probe.probe_id)))


def _warm_ups(node: NodeHistory, rng: Random) -> Iterator[Probe]:
    """Transfer ids of warm-ups are the rank numbers (SGLang 0.5.17 and later)."""
    for epoch in node.epochs:
        for rank in range(node.ranks):
            at = epoch.effective_at + 90 * SECOND + rank * 200 * MILLISECOND
            yield _probe(node, rank, f"{rng.getrandbits(64):016x}", rank, _WARM_UP_TOKENS, at, rng)


def _checks(config: LabConfig, node: NodeHistory, router: Router, rng: Random) -> Iterator[Probe]:
    at = config.open_at + rng.randrange(config.probe_every)
    while at < config.end:
        if router.takes_traffic(node, at):
            identifier = f"HEALTH_CHECK_{rng.getrandbits(64):016x}"
            yield _probe(node, 0, identifier, 0, 1, at, rng)
        at += config.probe_every


def _probe(
    node: NodeHistory, rank: int, identifier: str, transfer_id: int, tokens: int, at: Micros,
    rng: Random,
) -> Probe:  # fmt: skip
    return Probe(
        probe_id=identifier,
        transfer_id=transfer_id,
        node=node.name,
        rank=rank,
        role=node.role,
        prompt_tokens=tokens,
        received_at=at,
        released_at=at + rng.randint(30, 70) * MILLISECOND,
    )
