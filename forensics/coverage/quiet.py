"""Hours in which no log of any hop holds a record, amid hours that do.

Nothing proves what was lost of such an hour. Where some hop logs enough in an hour that none is
no chance, records are missing; where they are few, it cannot be told whether any is. At both ends
of the logs only a window that was stated says that there should be more.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from forensics.activity import HOUR
from forensics.coverage.hours import AT, BUSY, Coverage


@dataclass(frozen=True)
class Quiet:
    """Hours without any record: those that are missing, and those of which it cannot be told."""

    missing: int
    untold: int


def quiet(hours: pl.DataFrame) -> Quiet:
    """Return how many such hours there are; hours of a node that are gaps are counted there.

    Args:
        hours: of :class:`forensics.coverage.Coverage`.
    """
    rows = hours.filter(pl.col("hour").is_not_null())
    seen = rows.filter(pl.col("records") > 0)
    hours_without, busy = _empty(seen), _busy(seen)
    of_a_node = hours_without.is_in(rows.filter("gap")["hour"].implode())
    empty = hours_without.len() - int(of_a_node.sum())
    return Quiet(empty if busy else 0, 0 if busy else empty)


def _empty(seen: pl.DataFrame) -> pl.Series:
    """Return the hours without any record amid those with some."""
    ends = seen.select(first=pl.col("hour").min(), last=pl.col("hour").max()).drop_nulls()
    every = ends.select(hour=pl.int_ranges("first", pl.col("last") + HOUR, HOUR, dtype=pl.Int64))
    hours = every.explode("hour")["hour"]
    return hours.filter(~hours.is_in(seen["hour"].implode()))


def _busy(seen: pl.DataFrame) -> bool:
    """Say whether some hop logs enough in an hour that none is no chance."""
    of_hop = seen.group_by("hop", "hour").agg(pl.col("records").sum())
    usual = of_hop.group_by("hop").agg(pl.col("records").median())["records"].max()
    return float(usual or 0) >= BUSY  # type: ignore[arg-type]


def missing(hours: pl.DataFrame) -> pl.DataFrame:
    """Return ``node``, ``hop`` and ``hour`` where records are missing though no hop proves one.

    Both are null where no log of any hop holds a record and some hop is busy: whoever lost what
    that one should hold, the others have nothing of it either.

    Args:
        hours: of :func:`forensics.coverage.hours.every`.
    """
    seen = hours.filter(pl.col("records") > 0)
    empty = _empty(seen) if _busy(seen) else hours["hour"].clear()
    return pl.concat([hours.filter("gap").select(AT), empty.to_frame("hour")], how="diagonal")


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
