"""Stretches in which several logs together hold no record, amid traffic.

Nothing proves what was lost of such a time. Where the traffic makes that no chance
(:mod:`forensics.coverage.still`), records are missing; where it is too low, it cannot be told
whether any is. At both ends of the logs only a window that was stated says that there should be
more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from forensics.activity import HOUR
from forensics.coverage.hours import BUSY, Coverage, Hours
from forensics.coverage.rates import thin
from forensics.coverage.stretches import together


@dataclass(frozen=True)
class Quiet:
    """Stretches that several logs together are missing, and hours of which it cannot be told."""

    missing: int
    untold: int


def quiet(coverage: Coverage) -> Quiet:
    """Return how many there are; what one node's own traffic tells is counted there."""
    still = coverage.still
    every = still.filter(pl.col("of") == "all")
    of_hops = still.filter(pl.col("of") == "hop")
    of_several = pl.concat([every, _apart(of_hops, every)]).unique(["begin", "end"])
    own = _apart(of_several, still.filter(pl.col("of") == "node"))
    seen = coverage.hours.filter(pl.col("records") > 0)["hour"].drop_nulls()
    return Quiet(own.height, _untold(seen, still))


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


def _untold(seen: pl.Series, still: pl.DataFrame) -> int:
    """Return how many hours amid those with some record have none, and touch no stretch.

    They are counted, not listed: a clock that is off by centuries leaves millions between.
    """
    hours = np.unique(seen.to_numpy()) // HOUR
    if not len(hours):
        return 0
    begin, end = together(still)
    first, last = int(hours[0]), int(hours[-1])

    def empty_before(hour: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        inside = np.clip(hour, first, last + 1)
        return inside - first - np.searchsorted(hours, inside)

    reached = pl.DataFrame({"begin": begin // HOUR, "end": -(-end // HOUR)})
    from_hour, to_hour = (side.to_numpy() for side in together(reached))
    told = empty_before(to_hour) - empty_before(from_hour)
    return int(empty_before(np.array([last + 1]))[0] - told.sum())


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
