"""What the logs can show: records per node and hour, and hours that are missing.

An empty hour is called a gap only where the node is busy enough for it to mean
something: with a median of 20 records an hour, chance leaves an hour empty about
once in half a billion.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from forensics.observations import ensure

HOUR = 3_600_000_000
BUSY = 20
"""Median records an hour from which an empty hour counts as a gap."""


@dataclass(frozen=True)
class Coverage:
    """``hours``: node, hop, hour (µs), records, gap. ``nodes``: one row per node and hop."""

    hours: pl.DataFrame
    nodes: pl.DataFrame

    @property
    def gaps(self) -> int:
        """Number of node hours that are missing."""
        return int(self.hours["gap"].sum())


def measure(observations: pl.DataFrame) -> Coverage:
    """Count observations per node, hop and hour, and find the hours that are missing."""
    rows = ensure(observations, ["prefill_node", "decode_node", "received_at", "hop"])
    node = (
        pl.when(pl.col("hop") == "prefill")
        .then("prefill_node")
        .when(pl.col("hop") == "decode")
        .then("decode_node")
    )
    hour = (pl.col("received_at") // HOUR) * HOUR
    rows = rows.select("observation", node=node, hop="hop", at="received_at", hour=hour)
    counted = (
        rows.filter(pl.col("at").is_not_null())
        .unique("observation")
        .group_by("node", "hop", "hour")
        .agg(
            pl.len().cast(pl.Int64).alias("records"),
            pl.col("at").min().alias("first_at"),
            pl.col("at").max().alias("last_at"),
        )
    )
    nodes = counted.group_by("node", "hop").agg(
        pl.col("first_at").min(),
        pl.col("last_at").max(),
        pl.col("records").sum(),
        pl.col("records").median().alias("median"),
        pl.len().cast(pl.Int64).alias("hours_with_records"),
        pl.col("hour").min().alias("first_hour"),
        pl.col("hour").max().alias("last_hour"),
    )
    nodes = nodes.with_columns(hours=(pl.col("last_hour") - pl.col("first_hour")) // HOUR + 1)
    hours = pl.concat([counted.select("node", "hop", "hour", "records"), _missing(counted, nodes)])
    hours = hours.with_columns(gap=pl.col("records") == 0).sort(
        "node", "hop", "hour", nulls_last=False
    )
    gaps = hours.group_by("node", "hop").agg(pl.col("gap").sum().cast(pl.Int64).alias("gaps"))
    nodes = nodes.join(gaps, on=["node", "hop"], nulls_equal=True)
    return Coverage(hours, nodes.sort("hop", "node", nulls_last=False))


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
