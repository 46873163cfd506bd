"""The planned long prompts: how many, when, from whom, and what their clients do.

They come alone and in bursts of one tenant over one document, spread over the time in
which the fault was open, so that many days, nodes and tenants are hit.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Literal, TypeAlias

from forensics.lab.clock import HOUR, MINUTE, SECOND, Micros
from forensics.lab.config import LabConfig
from forensics.lab.records import Fate, Intent

Kind: TypeAlias = Literal[
    "served", "cut", "stream_error", "retried", "aborted", "failed", "over_context",
    "decode_refused", "near_limit", "after_fix",
]  # fmt: skip
Slot: TypeAlias = tuple[Micros, int, int]
"""Arrival, tenant number, session."""

_SESSION_BASE = 10_000_000
_FATES: dict[Kind, Fate] = {
    "cut": "cut",
    "stream_error": "stream_error",
    "aborted": "abort",
    "over_context": "over_context",
}


def plan_long(config: LabConfig) -> list[Intent]:
    """Return the planned long prompts, in no order of time."""
    rng = Random(f"{config.seed}:long")
    kinds = _over_limit_kinds(config)
    rng.shuffle(kinds)
    over = list(zip(kinds, _bursts(config, rng), strict=False))
    near: list[tuple[Kind, Slot]] = [("near_limit", slot) for slot in _pairs(config, rng)]
    after: list[tuple[Kind, Slot]] = [("after_fix", slot) for slot in _after_fix(config, rng)]
    edge = kinds.index("served") if "served" in kinds else -1
    return [
        _intent(config, rng, kind, slot, edge=number == edge)
        for number, (kind, slot) in enumerate([*over, *near, *after])
    ]


def _over_limit_kinds(config: LabConfig) -> list[Kind]:
    counts = config.long
    wanted: list[tuple[Kind, int]] = [
        ("served", counts.served),
        ("cut", counts.cut_after_tokens),
        ("stream_error", counts.stream_errors),
        ("retried", counts.retried),
        ("aborted", counts.aborted),
        ("failed", counts.failed),
        ("over_context", counts.over_context),
        ("decode_refused", counts.decode_refused),
    ]
    return [kind for kind, count in wanted for _ in range(count)]


def _bursts(config: LabConfig, rng: Random) -> Iterator[Slot]:
    session = _SESSION_BASE
    while True:
        session += 1
        tenant = _tenant(config, rng)
        size = rng.randint(3, 7) if rng.random() < 0.2 else 1
        arrived_at = rng.randrange(config.open_at + 15 * MINUTE, config.fault_until)
        for _ in range(size):
            if arrived_at < config.fault_until:
                yield arrived_at, tenant, session
            arrived_at += rng.randrange(90 * SECOND, 7 * MINUTE)


def _pairs(config: LabConfig, rng: Random) -> list[Slot]:
    """Two questions over one document: the second may find its prefix in the cache."""
    slots: list[Slot] = []
    for number in range((config.long.near_limit + 1) // 2):
        arrived_at = rng.randrange(config.open_at, config.fault_until - 10 * MINUTE)
        tenant, session = _tenant(config, rng), 2 * _SESSION_BASE + number
        slots.append((arrived_at, tenant, session))
        slots.append((arrived_at + rng.randrange(3 * MINUTE, 9 * MINUTE), tenant, session))
    return slots[: config.long.near_limit]


def _after_fix(config: LabConfig, rng: Random) -> list[Slot]:
    if not config.long.after_fix or config.outage is None:
        return []
    return [
        (
            rng.randrange(config.outage[1], config.end - HOUR),
            _tenant(config, rng),
            3 * _SESSION_BASE + number,
        )
        for number in range(config.long.after_fix)
    ]


def _tenant(config: LabConfig, rng: Random) -> int:
    """Return a tenant number; long documents come from the larger half of the tenants."""
    return min(rng.randrange(config.tenants), rng.randrange(config.tenants))


def _intent(config: LabConfig, rng: Random, kind: Kind, slot: Slot, *, edge: bool) -> Intent:
    arrived_at, tenant, session = slot
    prompt = config.long.min_tokens if edge else _prompt(config, rng, kind)
    completion = max(1, min(round(rng.lognormvariate(5.3, 0.7)), _room(config, prompt)))
    fate: Fate = _FATES.get(kind, "serve")
    finish = {"cut": "abort", "stream_error": "error"}.get(kind, "stop")
    return Intent(
        request_id=f"cmpl-{rng.getrandbits(64):016x}",
        tenant_id=f"tenant-{tenant + 1:03d}",
        session=session,
        arrived_at=arrived_at,
        prompt_tokens=prompt,
        completion_tokens=rng.randint(8, 60) if fate == "cut" else completion,
        finish_reason=finish,
        fate=fate,
        failures=_failures(config, rng, kind),
        seed=rng.getrandbits(63),
    )


def _room(config: LabConfig, prompt: int) -> int:
    return min(900, max(1, config.context_tokens - prompt))


def _failures(config: LabConfig, rng: Random, kind: Kind) -> int:
    if kind == "failed":
        return config.max_attempts
    return rng.choice((1, 1, 2)) if kind == "retried" else 0


def _prompt(config: LabConfig, rng: Random, kind: Kind) -> int:
    context, low, high = config.context_tokens, config.long.min_tokens, config.long.max_tokens
    if kind == "over_context":
        return rng.randrange(context + 1, context * 13 // 10)
    if kind == "decode_refused":
        return rng.randrange(context - 6, context)
    if kind == "near_limit":
        # Nearer than two pages to the limit the engine may never find room: a hang, no leak.
        edge = config.small_pool_tokens - 3 * config.page_tokens
        return rng.randrange(edge * 3 // 4, edge)
    return round(rng.triangular(low, high, low))
