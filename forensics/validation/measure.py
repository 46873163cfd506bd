"""Seeded incidents, judged from what is left of their logs, held against their truth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import polars as pl

import forensics
from forensics import lab
from forensics._version import __version__
from forensics.bounds.statistical import share
from forensics.exposure import Exposure
from forensics.incident import Incident, Logs
from forensics.lab.plain import line, plain_files
from forensics.schema import AFFECTED_TIERS
from forensics.scratch import scratch_folder
from forensics.validation.results import Interval, Results, Situation
from forensics.validation.situations import SITUATIONS, Files, Kept

FIRST_SEED = 9_000
SEEDS = 20
_SURE = ("confirmed", "probable")


def validate(
    seeds: int = SEEDS, first: int = FIRST_SEED, told: Callable[[int], None] | None = None
) -> Results:
    """Return error rates over so many seeded incidents.

    Args:
        seeds: how many incidents, each read in every situation.
        first: the first seed.
        told: called with the number of incidents just done.
    """
    counts = {kept.name: Counter[str]() for kept in SITUATIONS}
    for seed in range(first, first + seeds):
        for kept, counted in _incident(seed):
            counts[kept.name].update(counted)
        if told is not None:
            told(1)
    found = [_situation(kept.name, seeds, counts[kept.name]) for kept in SITUATIONS]
    return Results(__version__, first, seeds, found)


def _incident(seed: int) -> Iterator[tuple[Kept, Counter[str]]]:
    """Simulate once, and read what each situation leaves."""
    run = lab.simulate(replace(lab.small(seed=seed), tenants=30))
    files: Files = {name: list(rows) for name, rows in plain_files(run).items()}
    truth = {str(handoff.transfer_id): handoff.intent.request_id for handoff in run.affected}
    for kept in SITUATIONS:
        with scratch_folder() as place:
            left = kept.of(files, Random(f"{seed} {kept.name}"))  # noqa: S311 -- a seeded choice
            case = _read(left, place, kept.rate)
            yield kept, _held_against(case, truth, left)


def _read(files: Files, folder: Path, rate: float) -> forensics.Case:
    for name, rows in files.items():
        path = folder / f"{name}.ndjson"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(line(row) + b"\n" for row in rows))
    asked = Incident(logs=Logs(timezone="UTC", sampling_rate=rate))
    return forensics.read_logs(folder, incident=asked, workers=1)


def _held_against(case: forensics.Case, truth: dict[str, str], left: Files) -> Counter[str]:
    """Count by request: where the hand-off's own id is lost, the client's still tells."""
    rows = case.requests.polars().select("request_id", "tier")
    affected = set(truth.values())
    sure = set(rows.filter(pl.col("tier").is_in(_SURE))["request_id"])
    listed = set(rows.filter(pl.col("tier").is_in(AFFECTED_TIERS))["request_id"])
    held = {str(r["request_id"]) for file in left.values() for r in file if "request_id" in r}
    logged = affected & held
    open_ = set(rows.filter(pl.col("tier") != "ruled_out")["request_id"])
    return Counter(
        affected=len(logged),
        sure=len(sure),
        right=len(sure & affected),
        listed=len(listed & logged),
        sure_right=len(sure & logged),
        covered=int(_covers(case.exposure(), len(affected))),
        ruled_out=len(logged - open_),
    )


def _covers(document: Exposure, true: int) -> bool:
    """Say whether the bound that leads for these logs holds the true number."""
    head = document.headline
    sampled = [bound for bound in head.further_bounds if bound.method == "binomial inversion"]
    if head.bound.high is None:
        return head.bound.low <= true
    high = max([head.bound.high, *(bound.high for bound in sampled)])
    return head.bound.low <= true <= high


def _situation(name: str, seeds: int, counts: Counter[str]) -> Situation:
    return Situation(
        name=name,
        incidents=seeds,
        affected=counts["affected"],
        precision=_interval(counts["right"], counts["sure"]),
        recall=_interval(counts["listed"], counts["affected"]),
        sure=_interval(counts["sure_right"], counts["affected"]),
        covered=_interval(counts["covered"], seeds),
        ruled_out=counts["ruled_out"],
    )


def _interval(found: int, of: int) -> Interval:
    if not of:
        return Interval(found, of, None, None)
    limits = share(found, of)
    return Interval(found, of, round(limits.low or 0.0, 4), round(limits.high or 0.0, 4))
