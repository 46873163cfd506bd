"""Seeded records with prefill times and their truth: who was answered without being computed.

Nothing but the client's count, the cached tokens and the time is logged of the prefill: no
transfer, no count of prefill's own. Half the nodes have the small pool and hand over prompts
that it cannot hold; on the others the same prompts are computed, some with a long prefix cached.
"""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from forensics.lab.clock import DAY, HOUR, micros
from forensics.lab.laws import Floats, Ints, Law, Pace, prefill_ms

_PAGE = 64
_START = micros("2026-08-27T00:00:00Z")


@dataclass(frozen=True)
class TimingConfig:
    """One run. ``affected`` is the share of all requests that leak; sizes in tokens."""

    seed: int
    requests: int
    affected: float
    nodes: int = 6
    days: int = 13
    pool_tokens: int = 681_280
    context_tokens: int = 1_048_576
    large_pool_tokens: int = 2_040_000
    prompt_median: float = 2_600.0
    prompt_sigma: float = 1.55
    cached_share: float = 0.55
    """Share of prompts of which a prefix is cached."""
    law: Law = field(default_factory=Law)


@dataclass(frozen=True)
class TimingRun:
    """Columns of plain records, capacity records, and the ids of the affected requests."""

    config: TimingConfig
    requests: dict[str, list[Any]]
    capacity: list[dict[str, Any]]
    affected: frozenset[str]


def draw(config: TimingConfig) -> TimingRun:
    """Draw a run; the same configuration gives the same run."""
    rng = np.random.default_rng(config.seed)
    size = config.requests
    node = rng.integers(0, config.nodes, size)
    at = np.sort(rng.integers(0, config.days * DAY, size))
    small = node % 2 == 0
    long = rng.random(size) < config.affected * 2
    prompt = np.where(long, _over(config, rng), _usual(config, rng))
    leaks = long & small
    cached = np.where(leaks, 0, _cached(prompt, config, rng))
    pace = Pace.drawn(config.nodes, config.days * 24, rng).by_hour[node, at // HOUR]
    computed = np.where(leaks, 1, prompt - cached)
    took = prefill_ms(computed, cached, pace, config.law, rng)
    ids = [f"req-{config.seed:04d}-{number:08d}" for number in range(size)]
    affected = frozenset(ids[number] for number in np.flatnonzero(leaks).tolist())
    tenants = rng.zipf(1.4, size) % 60
    rows = _rows(ids, node, at, prompt, cached, took, tenants)
    return TimingRun(config, rows, _capacity(config), affected)


def _over(config: TimingConfig, rng: np.random.Generator) -> Ints:
    """Prompts longer than the small pool, up to the window."""
    return rng.integers(config.pool_tokens + 1, config.context_tokens - 64, config.requests)


def _usual(config: TimingConfig, rng: np.random.Generator) -> Ints:
    """Prompts of conversations: a long tail that ends below the small pool."""
    most = config.pool_tokens * 15 // 16
    drawn = rng.lognormal(np.log(config.prompt_median), config.prompt_sigma, config.requests)
    again = rng.integers(64, most, config.requests)
    return np.where(drawn > most, again, drawn + 4).astype(np.int64)


def _cached(prompt: Ints, config: TimingConfig, rng: np.random.Generator) -> Ints:
    """Whole pages of a prefix: mostly nearly all of the prompt, as in a conversation."""
    share = rng.beta(3.0, 0.35, len(prompt))
    pages = (np.minimum(prompt - 1, prompt * share) // _PAGE).astype(np.int64)
    return np.where(rng.random(len(prompt)) < config.cached_share, pages * _PAGE, 0)


def write(run: TimingRun, folder: Path) -> None:
    """Write the records as logs in the plain format, and the incident file that asks about them."""
    with (folder / "requests.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(run.requests)
        rows.writerows(zip(*run.requests.values(), strict=True))
    capacity = "".join(json.dumps(row) + "\n" for row in run.capacity)
    (folder / "capacity.ndjson").write_text(capacity, encoding="utf-8")
    asked = f"[trigger]\nthreshold_tokens = {run.config.pool_tokens}\n"
    (folder / "incident.toml").write_text(asked, encoding="utf-8")


def _rows(
    ids: list[str], node: Ints, at: Ints, prompt: Ints, cached: Ints, took: Floats, tenants: Ints
) -> dict[str, list[Any]]:
    times = np.datetime_as_string((at + _START).astype("datetime64[us]"), unit="us")
    return {
        "request_id": ids,
        "tenant_id": [f"tenant-{tenant:03d}" for tenant in tenants.tolist()],
        "received_at": [f"{time}Z" for time in times.tolist()],
        "prefill_node": [f"prefill-{number + 1}" for number in node.tolist()],
        "decode_node": [f"decode-{number + 1}" for number in node.tolist()],
        "prompt_tokens": prompt.tolist(),
        "cached_tokens": cached.tolist(),
        "prefill_ms": took.round(3).tolist(),
        "http_status": [200] * len(ids),
        "completion_tokens": [32] * len(ids),
    }


def _capacity(config: TimingConfig) -> list[dict[str, Any]]:
    pools = (config.pool_tokens, config.large_pool_tokens)
    return [
        {
            "node": f"prefill-{number + 1}",
            "role": "prefill",
            "effective_at": "2026-08-26T00:00:00Z",
            "pool_tokens": pools[number % 2],
            "page_tokens": _PAGE,
            "context_tokens": config.context_tokens,
            "engine": "sglang",
            "disaggregated": True,
        }
        for number in range(config.nodes)
    ]
