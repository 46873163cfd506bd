"""The table: counts by tier as they are, and as they would be under each choice."""

from __future__ import annotations

from dataclasses import dataclass, replace

import polars as pl

from forensics import judging, limits
from forensics.direction import WRITES
from forensics.incident import Incident
from forensics.schema import TIERS
from forensics.sensitivity.choices import Choice, Kind, choices
from forensics.verdicts import flag


@dataclass(frozen=True)
class Outcome:
    """One choice: requests of each tier, those at or over the limit, and how many would move."""

    kind: Kind
    name: str
    tiers: dict[str, int]
    over_limit: int
    moved: int


@dataclass(frozen=True)
class Stand:
    """Where the case stands: what choices are compared with.

    ``ready`` are the requests before they were judged, in the order of ``judged``; ``marked``
    keys of hand-offs whose answer held a foreign marker.
    """

    ready: pl.DataFrame
    judged: pl.DataFrame
    epochs: pl.DataFrame
    incident: Incident
    marked: pl.Series


def table(stand: Stand) -> list[Outcome]:
    """Return the counts as they are, then one outcome per neighbouring choice."""
    now = _counts(stand.judged)
    over = int(stand.judged.select(_OVER.sum()).item())
    base = Outcome("as judged", "as judged", now, over, 0)
    kept = _representatives(stand.ready)
    found = choices(stand.incident, stand.ready, stand.epochs)
    return [base, *(_outcome(choice, stand, kept, base) for choice in found)]


_OVER = flag("over_limit") & ~flag("out_of_scope")


def _outcome(choice: Choice, stand: Stand, kept: pl.Series, base: Outcome) -> Outcome:
    """Judge again what a choice touches; all else stays as it is."""
    touched = _touched(choice, stand)
    if not touched.any():
        return replace(base, kind=choice.kind, name=choice.name)
    before = stand.judged.filter(touched | kept)
    after = _judged(choice, stand.ready.filter(touched | kept), stand)
    was, now = _counts(before), _counts(after)
    tiers = {tier: base.tiers[tier] + now[tier] - was[tier] for tier in TIERS}
    over = int(after.select(_OVER.sum()).item()) - int(before.select(_OVER.sum()).item())
    moved = int((after["tier"] != before["tier"]).sum())
    return Outcome(choice.kind, choice.name, tiers, base.over_limit + over, moved)


def _touched(choice: Choice, stand: Stand) -> pl.Series:
    """Mark the requests that may come out otherwise; a threshold or a join changes no scope."""
    absent = set(choice.touches.meta.root_names()) - set(stand.ready.columns)
    known = stand.ready.with_columns(pl.lit(None, dtype=pl.Int64).alias(name) for name in absent)
    rows = known.with_columns(touched=choice.touches.fill_null(value=True))["touched"]
    if choice.kind in ("threshold", "join"):
        rows = rows & ~stand.judged.select(flag("out_of_scope")).to_series()
    if choice.incident.trigger.mechanism in WRITES and rows.any():
        return pl.repeat(value=True, n=len(rows), eager=True)  # who ran beside: all are asked
    return rows


def _judged(choice: Choice, rows: pl.DataFrame, stand: Stand) -> pl.DataFrame:
    changed = choice.change(rows)
    if choice.limits:
        threshold = choice.incident.trigger.threshold_tokens
        names = [name for name in limits.ADDED if name in changed.columns]
        again = limits.attach(changed.drop(names), stand.epochs, threshold)
        # When a rank began is known from more than the capacity records.
        changed = again.with_columns(changed["decode_since"])
    return judging.judge(changed, choice.incident, stand.marked)


def _representatives(ready: pl.DataFrame) -> pl.Series:
    """Mark one request per prefill node, and those with slot owners.

    What is known of a node, and what kind of names owners are, is told from all requests.
    """
    marks = [pl.col("prefill_node").is_first_distinct()]
    marks += [pl.col("slot_owner").is_not_null()] if "slot_owner" in ready.columns else []
    return ready.select(pl.any_horizontal(marks).fill_null(value=True).alias("kept")).to_series()


def _counts(rows: pl.DataFrame) -> dict[str, int]:
    return {tier: int((rows["tier"] == tier).sum()) for tier in TIERS}
