"""Quiet rows as counts: per prefill node and hour, with what would undo that they are quiet."""

from __future__ import annotations

import polars as pl

from forensics.activity import HOUR
from forensics.triage.quiet import COMPLETE, PAGE, PROMPT

KEY = ("prefill_node", "complete", "hour")
COUNTS: dict[str, pl.DataType] = {
    "prefill_node": pl.String(),
    "complete": pl.Boolean(),
    "hour": pl.Int64(),
    "rows": pl.Int64(),
    "first_at": pl.Int64(),
    "last_at": pl.Int64(),
    "prompt": pl.Int64(),
    "page": pl.Int64(),
}
"""Node, whether the hand-off is known to be complete, hour (µs); then the number of rows, first
and last time, longest prompt (tokens), smallest page (tokens) that would make a difference."""


_HOUR = (pl.col("received_at") // HOUR * HOUR).alias("hour")


def keyed(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with the columns of :data:`KEY`."""
    return rows.with_columns(COMPLETE, _HOUR)


def count(rows: pl.DataFrame, quiet: pl.Series) -> pl.DataFrame:
    """Return the counts of the quiet ones among some rows."""
    asked = "prefill_node", COMPLETE, _HOUR, "received_at", PROMPT.alias("prompt"), PAGE
    few = rows.select(asked).filter(quiet).lazy()  # of these columns, and not of the identifiers
    grouped = few.group_by(KEY).agg(
        pl.len().cast(pl.Int64).alias("rows"),
        first_at=pl.col("received_at").min(),
        last_at=pl.col("received_at").max(),
        prompt=pl.col("prompt").max(),
        page=pl.col("page").min(),
    )
    found = grouped.collect(engine="in-memory")  # they are there; streamed, they take twice as long
    return found.select(pl.col(name).cast(dtype) for name, dtype in COUNTS.items())


def merged(parts: list[pl.DataFrame]) -> pl.DataFrame:
    """Return several counts as one, sorted."""
    every = pl.concat([pl.DataFrame(schema=COUNTS), *parts])
    found = every.group_by(KEY).agg(
        pl.col("rows").sum(),
        pl.col("first_at").min(),
        pl.col("last_at").max(),
        pl.col("prompt").max(),
        pl.col("page").min(),
    )
    return found.select(*COUNTS).sort(KEY, nulls_last=False)


def less(counts: pl.DataFrame, moved: pl.DataFrame) -> pl.DataFrame:
    """Return the counts without rows that were moved out of them.

    The first and last time of an hour may be those of a row that was moved: it is kept, and
    counted among the others of that hour.
    """
    gone = moved.select(*KEY, gone="rows")
    left = counts.join(gone, on=KEY, how="left", nulls_equal=True)
    left = left.with_columns(rows=pl.col("rows") - pl.col("gone").fill_null(0))
    return left.filter(pl.col("rows") > 0).select(*COUNTS).sort(KEY, nulls_last=False)
