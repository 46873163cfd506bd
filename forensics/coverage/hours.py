"""What the logs can show: records per node and hour, and hours that are missing.

An empty hour is called a gap only where its node's own traffic makes that no chance
(:mod:`forensics.coverage.still`); an hour of which that holds in part is as thin as one with far
fewer records than its neighbours'. An hour in which a node ran batches and no record names it is
unlogged work.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from forensics import activity
from forensics.activity import HOUR
from forensics.columns import ensure
from forensics.coverage import doubled
from forensics.coverage.alive import MINUTE
from forensics.coverage.doubled import NODE
from forensics.coverage.pauses import SHORTEST
from forensics.coverage.rates import thin
from forensics.coverage.still import NOWHERE, WROTE, Away, by_hour, still, throughout, wrote

Flags = NDArray[np.bool_]
BUSY = 20
"""Records an hour from which that there are none in one is no chance."""


@dataclass(frozen=True)
class Coverage:
    """``hours``: node, hop, hour (µs), records, gap, batches, sequences, unlogged, thin.

    Also ``duplicates`` and ``skipped``, maybe without an hour. ``nodes``: one row per node and hop.
    ``still``: of :func:`forensics.coverage.still.still`, with the ``away`` that it was given.
    """

    hours: pl.DataFrame
    nodes: pl.DataFrame
    still: pl.DataFrame
    away: Away = NOWHERE

    @property
    def gaps(self) -> int:
        """Number of node hours that are missing."""
        return int(self.hours["gap"].sum())

    @property
    def thin(self) -> int:
        """Number of node hours with far fewer records than others or its own make likely."""
        return int(self.hours["thin"].sum())

    @property
    def unlogged(self) -> int:
        """Number of node hours with work of which no request was logged."""
        return int(self.hours["unlogged"].sum())


READ = ("observation", "hop", "prefill_node", "decode_node", "received_at")
"""What is read of records."""


@dataclass(frozen=True)
class Tally:
    """What is told of records by the hour: it does not grow with them.

    ``counted`` is under :data:`COUNTED`, ``minutes`` under :data:`forensics.coverage.still.WROTE`;
    ``named`` has each ``node`` that any of them names, and the ``hour``.
    """

    counted: pl.DataFrame
    minutes: pl.DataFrame
    named: pl.DataFrame


def tally(pieces: Iterable[pl.DataFrame], apart: pl.DataFrame | None = None) -> Tally:
    """Count records by the hour, a piece at a time.

    Args:
        pieces: of all records, each with its ``observation`` number: one that speaks for several
            hand-offs may be in several.
        apart: further records, counted under :data:`COUNTED` where they lie.
    """
    counted, minutes, named = (pl.DataFrame(schema=of) for of in (COUNTED, WROTE, _NAMED))
    if apart is not None:
        counted, minutes = apart.select(*COUNTED), throughout(apart)
    seen = np.zeros(0, dtype=np.bool_)
    for piece in pieces:
        rows = ensure(piece, READ)
        named = pl.concat([named, _named(rows, pl.col("received_at") // HOUR * HOUR)]).unique()
        rows = rows.select("observation", node=NODE, hop="hop", at="received_at").drop_nulls("at")
        minutes = pl.concat([minutes, wrote(rows)]).unique()
        fresh, seen = _fresh(rows["observation"], seen)
        counted = _together(counted, _counted(rows.filter(fresh).unique("observation")))
    return Tally(counted, minutes, named)


def _fresh(numbers: pl.Series, seen: Flags) -> tuple[pl.Series, Flags]:
    """Return which numbers no piece had before, and those that were seen with these."""
    last = numbers.max()
    if last is not None and int(last) >= len(seen):  # type: ignore[arg-type]
        seen = np.pad(seen, (0, int(last) + 1 - len(seen)))  # type: ignore[arg-type]
    own = numbers.to_numpy()
    fresh = pl.Series(~seen[own])
    seen[own] = True
    return fresh, seen


def measure(
    told: Tally, worked: pl.DataFrame, beside: pl.DataFrame, away: Away = NOWHERE
) -> Coverage:
    """Return the records per node, hop and hour, and the hours that are missing.

    Args:
        told: of all records.
        worked: batch lines per hour, of :func:`forensics.activity.hourly`.
        beside: ``duplicates``, of :func:`forensics.coverage.doubled.again`, and ``skipped``, of
            :func:`forensics.coverage.sequences.skipped`, per node, hop and hour.
        away: when nothing, or one server, need not have written.
    """
    named = told.named if worked.height else told.named.clear()
    known = every(told, away)
    nodes = _spans(known.counted)
    hours = _with_work(known.hours, worked, named).sort(*AT, nulls_last=False)
    hours = hours.with_columns(((thin(hours) | pl.col("thin")) & ~pl.col("gap")).alias("thin"))
    hours = doubled.attach(hours, beside)
    sums = hours.group_by("node", "hop").agg(
        pl.col("gap").sum().cast(pl.Int64).alias("gaps"),
        pl.col("thin").sum().cast(pl.Int64).alias("thin_hours"),
        pl.col("unlogged").sum().cast(pl.Int64).alias("unlogged_hours"),
        pl.col("batches", "sequences", "duplicates", "skipped").sum(),
    )
    nodes = sums.join(nodes, on=["node", "hop"], how="left", nulls_equal=True)
    zero = [pl.col(name).fill_null(0) for name in ("records", "hours", "hours_with_records")]
    nodes = nodes.with_columns(zero).sort("hop", "node", nulls_last=False)
    return Coverage(hours, nodes, known.still, away)


@dataclass(frozen=True)
class Hours:
    """``hours``: node, hop, hour, records, ``gap`` and ``thin``; ``still`` as of :class:`Coverage`.

    ``thin`` are hours of which a part is still. ``counted`` are those with records.
    """

    hours: pl.DataFrame
    counted: pl.DataFrame
    still: pl.DataFrame


def every(told: Tally, away: Away = NOWHERE) -> Hours:
    """Return what :func:`measure` says of records alone; the arguments are the same."""
    return _every_hour(told.counted, told.minutes, away)


def lacking(rows: pl.DataFrame, away: Away = NOWHERE) -> pl.DataFrame:
    """Return node, hop and hour where records are missing, by these records alone.

    Few beside those of the others count only where these are no few themselves.

    Args:
        rows: one row per record or request: ``node``, ``hop`` and ``at`` (µs), none of it null.
        away: as in :func:`measure`.
    """
    hours = _every_hour(_counted(rows), wrote(rows), away).hours
    beside = pl.col("records").sum().over("hop", "hour") - pl.col("records")
    few = pl.col("thin") | (thin(hours) & (beside >= BUSY))
    return hours.filter(pl.col("gap") | few).select(AT)


AT = ["node", "hop", "hour"]
COUNTED: dict[str, pl.DataType] = {
    "node": pl.String(),
    "hop": pl.String(),
    **dict.fromkeys(("hour", "records", "first_at", "last_at"), pl.Int64()),
}
"""Records per node, hop and hour, with the first and the last time; times in microseconds."""


def _counted(rows: pl.DataFrame) -> pl.DataFrame:
    """Return :data:`COUNTED` of records with ``node``, ``hop`` and ``at``."""
    hour = (pl.col("at") // HOUR * HOUR).alias("hour")
    return rows.group_by("node", "hop", hour).agg(
        pl.len().cast(pl.Int64).alias("records"),
        pl.col("at").min().alias("first_at"),
        pl.col("at").max().alias("last_at"),
    )


def _every_hour(counted: pl.DataFrame, minutes: pl.DataFrame, away: Away) -> Hours:
    """Return the hours with records and those that lack them."""
    found = still(minutes, away)
    own = by_hour(found)
    gaps = own.join(counted, on=AT, how="anti", nulls_equal=True)
    none = gaps.select(*AT, records=pl.lit(0, dtype=pl.Int64))
    hours = pl.concat([counted.select(*AT, "records"), none])
    hours = hours.join(own, on=AT, how="left", nulls_equal=True, maintain_order="left")
    empty, part = pl.col("records") == 0, pl.col("still").fill_null(0) >= SHORTEST * MINUTE
    hours = hours.with_columns(gap=empty, thin=part & ~empty).drop("still")
    return Hours(hours, counted, found)


_NAMED: dict[str, pl.DataType] = {"node": pl.String(), "hour": pl.Int64()}


def _together(counted: pl.DataFrame, more: pl.DataFrame) -> pl.DataFrame:
    every = pl.concat([counted, more.select(*COUNTED)])
    return every.group_by(AT).agg(
        pl.col("records").sum(), pl.col("first_at").min(), pl.col("last_at").max()
    )


def _named(rows: pl.DataFrame, hour: pl.Expr) -> pl.DataFrame:
    """Return which nodes any record names, and in which hours."""
    nodes = ("prefill_node", "decode_node")
    sides = [rows.select(node=name, hour=hour).drop_nulls("node").unique() for name in nodes]
    return pl.concat(sides).unique()


def _spans(counted: pl.DataFrame) -> pl.DataFrame:
    """Return one row per node and hop: from when to when, and how busy it is."""
    nodes = counted.group_by("node", "hop").agg(
        pl.col("first_at").min(),
        pl.col("last_at").max(),
        pl.col("records").sum(),
        pl.len().cast(pl.Int64).alias("hours_with_records"),
        pl.col("hour").min().alias("first_hour"),
        pl.col("hour").max().alias("last_hour"),
    )
    return nodes.with_columns(hours=(pl.col("last_hour") - pl.col("first_hour")) // HOUR + 1)


def _with_work(hours: pl.DataFrame, worked: pl.DataFrame, named: pl.DataFrame) -> pl.DataFrame:
    """Add the batches of each hour, and the hours that have nothing else."""
    joined = hours.join(worked, on=AT, how="full", coalesce=True, nulls_equal=True)
    counts = ("records", "batches", "sequences", "single_page_batches")
    joined = joined.with_columns(
        *(pl.col(name).fill_null(0) for name in counts),
        pl.col("gap", "thin").fill_null(value=False),
    )
    unlogged = activity.unlogged(joined, named)
    return joined.with_columns(unlogged.alias("unlogged")).drop("single_page_batches")


def hours_covered(coverage: Coverage, start: int, end: int) -> tuple[int, int]:
    """Return how many hours of ``[start, end)`` hold any record, and how many there are."""
    first = (start // HOUR) * HOUR
    total = max(0, -(-(end - first) // HOUR))
    seen = coverage.hours.filter(
        (pl.col("records") > 0) & pl.col("hour").is_between(first, end, closed="left")
    )["hour"].n_unique()
    return seen, total
