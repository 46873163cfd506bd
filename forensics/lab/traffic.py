"""Seeded client traffic: conversations around the clock, and the planned long prompts.

Long prompts, conversations and probes draw from generators of their own, so a run with
less background sends the same long prompts under the same identifiers.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate
from random import Random

from forensics.lab.clock import HOUR, MINUTE, SECOND, Micros
from forensics.lab.config import LabConfig
from forensics.lab.longprompts import plan_long
from forensics.lab.records import Fate, Intent

_TURN_GAP_SECONDS = 75.0


def plan(config: LabConfig) -> list[Intent]:
    """Return every planned request in order of arrival."""
    planned = plan_long(config)
    sessions = _conversations(config)
    while len(planned) < config.requests:
        planned.append(next(sessions))
    return sorted(planned, key=lambda intent: (intent.arrived_at, intent.request_id))


def _conversations(config: LabConfig) -> Iterator[Intent]:
    """Yield requests conversation by conversation, without end."""
    rng = Random(f"{config.seed}:conversations")
    hours = _hour_curve(config)
    tenants = _zipf(config.tenants)
    session = 0
    while True:
        session += 1
        yield from _conversation(config, rng, session, _pick(rng, tenants), _pick(rng, hours))


def _conversation(
    config: LabConfig, rng: Random, session: int, tenant: int, hour: int
) -> Iterator[Intent]:
    arrived_at = config.open_at + hour * HOUR + rng.randrange(HOUR)
    limit = min(config.context_tokens, config.small_pool_tokens) * 15 // 16
    prompt = _lognormal(rng, config.prompt_median, config.prompt_sigma, 4, limit)
    while True:
        completion = _lognormal(rng, 210, 0.9, 1, 2_048)
        if arrived_at >= config.end - 10 * MINUTE or prompt > limit:
            return
        yield _intent(rng, session, tenant, arrived_at, prompt, completion)
        if rng.random() < 0.55:
            return
        arrived_at += 5 * SECOND + int(rng.expovariate(1 / _TURN_GAP_SECONDS) * SECOND)
        prompt += completion + _lognormal(rng, 90, 1.0, 3, 20_000)


def _intent(
    rng: Random, session: int, tenant: int, arrived_at: Micros, prompt: int, completion: int
) -> Intent:
    fate, failures = _background_fate(rng)
    if fate in ("cut", "stream_error"):
        completion = rng.randint(1, completion)
    return Intent(
        request_id=f"cmpl-{rng.getrandbits(64):016x}",
        tenant_id=f"tenant-{tenant + 1:03d}",
        session=session,
        arrived_at=arrived_at,
        prompt_tokens=prompt,
        completion_tokens=completion,
        finish_reason=_finish(rng, fate, completion),
        fate=fate,
        failures=failures,
        seed=rng.getrandbits(63),
    )


def _background_fate(rng: Random) -> tuple[Fate, int]:
    draw = rng.random()
    if draw < 0.008:
        return "abort", 0
    if draw < 0.020:
        return "cut", 0
    if draw < 0.0215:
        return "stream_error", 0
    if draw < 0.0245:
        return "rate_limited", 0
    if draw < 0.0275:
        return "serve", rng.choice((1, 1, 1, 2, 3))
    return "serve", 0


def _finish(rng: Random, fate: Fate, completion: int) -> str:
    if fate == "cut":
        return "abort"
    if fate == "stream_error":
        return "error"
    if completion >= 2_048:
        return "length"
    return "tool_calls" if rng.random() < 0.08 else "stop"


def _hour_curve(config: LabConfig) -> list[float]:
    """Return cumulative weights per hour: busiest at 15 h UTC, a third of that at 3 h."""
    hours = max(1, math.ceil((config.end - config.open_at) / HOUR))
    first = config.open_at / HOUR
    return list(
        accumulate(
            1.0 + 0.5 * math.cos((first + hour - 15.0) / 24.0 * 2 * math.pi)
            for hour in range(hours)
        )
    )


def _zipf(count: int) -> list[float]:
    return list(accumulate(1.0 / rank**1.05 for rank in range(1, count + 1)))


def _pick(rng: Random, cumulative: list[float]) -> int:
    return bisect_left(cumulative, rng.random() * cumulative[-1])


def _lognormal(rng: Random, median: float, sigma: float, low: int, high: int) -> int:
    """Draw whole tokens from a heavy-tailed lognormal; out of range is drawn again."""
    while True:
        value = round(rng.lognormvariate(math.log(median), sigma))
        if low <= value <= high:
            return value
