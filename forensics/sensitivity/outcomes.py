"""The table: counts by tier as they are, and as they would be under each choice."""

from __future__ import annotations

from dataclasses import dataclass, replace

import polars as pl

from forensics import judging, unseen
from forensics.coverage.doubted import Logged
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

    ``ready`` are the requests before they were judged, in the order of ``judged``; ``logged`` what
    is known of capacity and of the logs of prefill; ``marked`` keys of hand-offs whose answer held
    a foreign marker.
    """

    ready: pl.DataFrame
    judged: pl.DataFrame
    logged: Logged
    incident: Incident
    marked: pl.Series


def table(stand: Stand) -> list[Outcome]:
    """Return the counts as they are, then one outcome per neighbouring choice."""
    now = _counts(stand.judged)
    over = int(stand.judged.select(_OVER.sum()).item())
    base = Outcome("as judged", "as judged", now, over, 0)
    kept = _representatives(stand.ready)
    found = choices(stand.incident, stand.ready, stand.logged.capacity.epochs)
    return [base, *(_outcome(choice, stand, kept, base) for choice in found)]


_COUNTED = (flag("over_limit"), flag("out_of_scope"))
_OVER = _COUNTED[0] & ~_COUNTED[1]


def _outcome(choice: Choice, stand: Stand, kept: pl.Series, base: Outcome) -> Outcome:
    """Judge again what a choice touches; all else stays as it is."""
    touched, ready = _touched(choice, stand), stand.ready
    # Who may have come after a lost start is known only from all that prefill logged since.
    whole = choice.moved != 0 and stand.logged.losses.height > 0
    if whole:
        ready = _changed(choice, ready, stand)
        touched |= _limited_otherwise(stand.ready, ready)
    if not touched.any():
        return replace(base, kind=choice.kind, name=choice.name)
    asked = touched | kept
    # A copy of all rows would be as much as all that is known of the case.
    rows = ready if asked.all() else ready.filter(asked)
    before = stand.judged.select("tier", *_COUNTED).filter(asked)
    changed = rows if whole else _changed(choice, rows, stand)
    after = judging.judge(changed, choice.incident, stand.marked)
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


def _changed(choice: Choice, rows: pl.DataFrame, stand: Stand) -> pl.DataFrame:
    """Return requests as they would be, with the limits that would be in force."""
    changed = choice.change(rows)
    if not choice.limits:
        return changed
    threshold = choice.incident.trigger.threshold_tokens
    names = [name for name in unseen.ADDED if name in changed.columns]
    logged = stand.logged.moved(choice.moved)
    again = unseen.attach(changed.drop(names), logged, threshold)
    # When a rank began is known from more than the capacity records.
    return again.with_columns(changed["decode_since"])


def _limited_otherwise(before: pl.DataFrame, after: pl.DataFrame) -> pl.Series:
    """Mark the requests whose limit is another one; a column that is not there says no."""
    both = []
    for rows in (before, after):
        flags = [pl.lit(value=False).alias(n) for n in unseen.ADDED if n not in rows.columns]
        both.append(rows.with_columns(flags).select(unseen.ADDED).drop("decode_since"))
    differ = [~both[0][name].eq_missing(both[1][name]) for name in both[0].columns]
    return pl.DataFrame(differ).select(pl.any_horizontal(pl.all())).to_series()


def _representatives(ready: pl.DataFrame) -> pl.Series:
    """Mark one request per prefill node, and those with slot owners.

    What is known of a node, and what kind of names owners are, is told from all requests.
    """
    marks = [pl.col("prefill_node").is_first_distinct()]
    marks += [pl.col("slot_owner").is_not_null()] if "slot_owner" in ready.columns else []
    return ready.select(pl.any_horizontal(marks).fill_null(value=True).alias("kept")).to_series()


def _counts(rows: pl.DataFrame) -> dict[str, int]:
    return {tier: int((rows["tier"] == tier).sum()) for tier in TIERS}
