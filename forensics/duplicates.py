"""Exact duplicates: records that are equal in every value, and have an id, count once.

Lines that name nobody count as often as the one file that holds them most often: a rotated
copy repeats lines, and what one file says twice happened twice.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from forensics.columns import LOGGED, per_file

UNNAMED = "unnamed:"
"""Prefix of the names that records without any id get; two such records are two."""
_KEY = ("request_id", "transfer_id", "hop", "received_at")


def without(frame: pl.DataFrame) -> tuple[pl.DataFrame, dict[int, int]]:
    """Return the records without later equal ones, and how many those were per file."""
    if not frame["request_id"].is_duplicated().any():
        return frame, {}
    known = pl.col("request_id").is_not_null() & ~pl.col("request_id").str.starts_with(UNNAMED)
    again = pl.struct([name for name in _KEY if name in frame.columns]).is_duplicated()
    suspect = frame.select((again & known.fill_null(value=False)).alias("again")).to_series()
    if not suspect.any():
        return frame, {}
    values = [column.name for column in LOGGED if column.name in frame.columns]
    among = frame.filter(suspect).sort("file", "line")
    kept = among.unique(values, keep="first", maintain_order=True)
    gone = among.join(kept.select("file", "line"), on=["file", "line"], how="anti")
    return pl.concat([frame.filter(~suspect), kept]).rechunk(), per_file(gone)


def without_copies(lines: pl.DataFrame, key: Sequence[str]) -> tuple[pl.DataFrame, dict[int, int]]:
    """Return the lines that no other file repeats, and how many repeated ones were per file.

    Args:
        lines: with ``file`` and ``line``.
        key: columns in which repeated lines are equal.
    """
    nth = pl.int_range(pl.len()).over(*key, "file", order_by="line")
    numbered = lines.with_columns(_nth=nth).sort("file", "line")
    kept = numbered.unique([*key, "_nth"], keep="first", maintain_order=True)
    if kept.height == lines.height:
        return lines, {}
    gone = numbered.join(kept.select("file", "line"), on=["file", "line"], how="anti")
    return kept.drop("_nth"), per_file(gone)
