"""Stretches in which several logs together hold no record, amid traffic.

Nothing proves what was lost of such a time. Where the traffic makes that no chance
(:mod:`forensics.coverage.still`), records are missing; where it is too low, it cannot be told
whether any is. At both ends of the logs only a window that was stated says that there should be
more.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from forensics.activity import HOUR
from forensics.coverage.hours import BUSY, Coverage, Hours
from forensics.coverage.rates import thin


@dataclass(frozen=True)
class Quiet:
    """Stretches that several logs together are missing, and hours of which it cannot be told."""

    missing: int
    untold: int


def quiet(coverage: Coverage) -> Quiet:
    """Return how many there are; what one node's own traffic tells is counted there."""
    rows, still = coverage.hours.filter(pl.col("hour").is_not_null()), coverage.still
    empty = _empty(rows.filter(pl.col("records") > 0)).to_frame("hour")
    told = _overlapping(empty.select("hour", begin="hour", end=pl.col("hour") + HOUR), still)
    every = still.filter(pl.col("of") == "all")
    of_hops = still.filter(pl.col("of") == "hop")
    together = pl.concat([every, _apart(of_hops, every)]).unique(["begin", "end"])
    own = _apart(together, still.filter(pl.col("of") == "node"))
    return Quiet(own.height, empty.height - told.height)


def _apart(some: pl.DataFrame, others: pl.DataFrame) -> pl.DataFrame:
    """Return the stretches that overlap none of some others."""
    return some.join(_overlapping(some, others), on=some.columns, how="anti", nulls_equal=True)


def _overlapping(some: pl.DataFrame, others: pl.DataFrame) -> pl.DataFrame:
    """Return the stretches (``begin``, ``end``) that overlap any of some others."""
    both = some.join_where(
        others.select(_begin="begin", _end="end"),
        pl.col("begin") < pl.col("_end"),
        pl.col("end") > pl.col("_begin"),
    )
    return both.select(some.columns).unique()


def _empty(seen: pl.DataFrame) -> pl.Series:
    """Return the hours without any record amid those with some."""
    ends = seen.select(first=pl.col("hour").min(), last=pl.col("hour").max()).drop_nulls()
    every = ends.select(hour=pl.int_ranges("first", pl.col("last") + HOUR, HOUR, dtype=pl.Int64))
    hours = every.explode("hour")["hour"]
    return hours.filter(~hours.is_in(seen["hour"].implode()))


def missing(known: Hours) -> pl.DataFrame:
    """Return ``node``, ``hop``, ``begin`` and ``end`` where records are missing that no hop proves.

    Node and hop are null where several logs together tell it: whoever lost what they should hold,
    the others have nothing of it either. Hours with far too few records count as a whole.
    """
    few = known.hours.filter(thin(known.hours)).select("node", "hop", "hour")
    part = few.select("node", "hop", begin="hour", end=pl.col("hour") + HOUR)
    return pl.concat([known.still.select(part.columns), part])


@dataclass(frozen=True)
class Edges:
    """Whole hours of the window ``before`` the first record of any log and ``after`` the last.

    Where logs are not ``busy``, such an hour may be one in which nothing came.
    """

    before: int
    after: int
    busy: bool


def edges(coverage: Coverage, window: tuple[int, int] | None) -> Edges:
    """Return how much of a window (µs) lies outside of what all logs reach."""
    times = coverage.nodes.select(pl.col("first_at").min(), pl.col("last_at").max()).drop_nulls()
    if window is None or not times.height:
        return Edges(0, 0, busy=False)
    first, last = times.row(0)
    busy = int(coverage.hours["records"].sum()) >= BUSY * (1 + (last - first) // HOUR)
    before, after = (first - window[0]) // HOUR, (window[1] - last) // HOUR
    return Edges(max(0, before), max(0, after), busy)
