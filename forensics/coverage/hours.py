"""What the logs can show: records per node and hour, and hours that are missing.

An empty hour is called a gap only where the node is busy enough for it to mean
something: with a median of 20 records an hour, chance leaves an hour empty about
once in half a billion. An hour in which a node ran batches and no record names it is
unlogged work.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from forensics import activity
from forensics.activity import HOUR
from forensics.columns import ensure
from forensics.coverage import doubled
from forensics.coverage.doubled import NODE
from forensics.coverage.rates import thin

BUSY = 20
"""Median records an hour from which an empty hour counts as a gap."""


@dataclass(frozen=True)
class Coverage:
    """``hours``: node, hop, hour (µs), records, gap, batches, sequences, unlogged, thin.

    Also ``duplicates`` and ``skipped``, maybe without an hour. ``nodes``: one row per node and hop.
    """

    hours: pl.DataFrame
    nodes: pl.DataFrame

    @property
    def gaps(self) -> int:
        """Number of node hours that are missing."""
        return int(self.hours["gap"].sum())

    @property
    def thin(self) -> int:
        """Number of node hours with far fewer records than those of its neighbours make likely."""
        return int(self.hours["thin"].sum())

    @property
    def unlogged(self) -> int:
        """Number of node hours with work of which no request was logged."""
        return int(self.hours["unlogged"].sum())


def measure(
    observations: pl.DataFrame,
    worked: pl.DataFrame,
    beside: pl.DataFrame,
    apart: pl.DataFrame | None = None,
) -> Coverage:
    """Count observations per node, hop and hour, and find the hours that are missing.

    Args:
        observations: records, each with its ``observation`` number.
        worked: batch lines per hour, of :func:`forensics.activity.hourly`.
        beside: ``duplicates``, of :func:`forensics.coverage.doubled.again`, and ``skipped``, of
            :func:`forensics.coverage.sequences.skipped`, per node, hop and hour.
        apart: further records, counted under :data:`COUNTED` where they lie.
    """
    rows = ensure(observations, ["prefill_node", "decode_node", "received_at", "hop"])
    hour = (pl.col("received_at") // HOUR) * HOUR
    named = _named(rows if worked.height else rows.clear(), hour)
    counted = _of_records(observations, apart)
    nodes = _spans(counted)
    hours = _every_hour(counted, nodes)
    hours = _with_work(hours, worked, named).sort(*AT, nulls_last=False)
    hours = hours.with_columns(thin(hours) & ~pl.col("gap"))
    hours = doubled.attach(hours, beside)
    sums = hours.group_by("node", "hop").agg(
        pl.col("gap").sum().cast(pl.Int64).alias("gaps"),
        pl.col("thin").sum().cast(pl.Int64).alias("thin_hours"),
        pl.col("unlogged").sum().cast(pl.Int64).alias("unlogged_hours"),
        pl.col("batches", "sequences", "duplicates", "skipped").sum(),
    )
    nodes = sums.join(nodes, on=["node", "hop"], how="left", nulls_equal=True)
    zero = [pl.col(name).fill_null(0) for name in ("records", "hours", "hours_with_records")]
    return Coverage(hours, nodes.with_columns(zero).sort("hop", "node", nulls_last=False))


def every(observations: pl.DataFrame, apart: pl.DataFrame | None = None) -> pl.DataFrame:
    """Return node, hop and hour with ``records`` and ``gap``: what :func:`measure` says of them.

    Args:
        observations: records, each with its ``observation`` number.
        apart: further records, counted under :data:`COUNTED` where they lie.
    """
    counted = _of_records(observations, apart)
    return _every_hour(counted, _spans(counted))


def _of_records(observations: pl.DataFrame, apart: pl.DataFrame | None) -> pl.DataFrame:
    """Return :data:`COUNTED` of each record, and of what was counted where it lies."""
    rows = ensure(observations, ["prefill_node", "decode_node", "received_at", "hop"])
    rows = rows.select("observation", node=NODE, hop="hop", at="received_at")
    counted = _counted(rows.drop_nulls("at").unique("observation"))
    return counted if apart is None else _together(counted, apart)


def lacking(rows: pl.DataFrame) -> pl.DataFrame:
    """Return node, hop and hour where records are missing, by these records alone.

    Few beside those of the others count only where these are no few themselves.

    Args:
        rows: one row per record or request: ``node``, ``hop`` and ``at`` (µs), none of it null.
    """
    counted = _counted(rows)
    hours = _every_hour(counted, _spans(counted))
    beside = pl.col("records").sum().over("hop", "hour") - pl.col("records")
    return hours.filter(pl.col("gap") | (thin(hours) & (beside >= BUSY))).select(AT)


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


def _every_hour(counted: pl.DataFrame, nodes: pl.DataFrame) -> pl.DataFrame:
    """Return the hours with records and those that lack them, with ``gap``."""
    hours = pl.concat([counted.select(*AT, "records"), _missing(counted, nodes)])
    return hours.with_columns(gap=pl.col("records") == 0)


def _together(counted: pl.DataFrame, apart: pl.DataFrame) -> pl.DataFrame:
    every = pl.concat([counted.select(*COUNTED), apart.select(*COUNTED)])
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
        pl.col("records").median().alias("median"),
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
        gap=pl.col("gap").fill_null(value=False),
    )
    unlogged = activity.unlogged(joined, named)
    return joined.with_columns(unlogged.alias("unlogged")).drop("single_page_batches")


def _missing(counted: pl.DataFrame, nodes: pl.DataFrame) -> pl.DataFrame:
    """Empty hours between a busy node's first and last record."""
    busy = nodes.filter(
        (pl.col("median") >= BUSY) & (pl.col("hours") > pl.col("hours_with_records"))
    )
    every = busy.select(
        "node",
        "hop",
        hour=pl.int_ranges("first_hour", pl.col("last_hour") + 1, HOUR, dtype=pl.Int64),
    ).explode("hour")
    empty = every.join(counted, on=["node", "hop", "hour"], how="anti", nulls_equal=True)
    return empty.select("node", "hop", "hour", pl.lit(0, dtype=pl.Int64).alias("records"))


def hours_covered(coverage: Coverage, start: int, end: int) -> tuple[int, int]:
    """Return how many hours of ``[start, end)`` hold any record, and how many there are."""
    first = (start // HOUR) * HOUR
    total = max(0, -(-(end - first) // HOUR))
    seen = coverage.hours.filter(
        (pl.col("records") > 0) & pl.col("hour").is_between(first, end, closed="left")
    )["hour"].n_unique()
    return seen, total
