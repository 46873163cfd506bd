"""Exact duplicates: records that are equal in every value, and have an id, count once.

Lines that name nobody count as often as the one file that holds them most often: a rotated
copy repeats lines, and what one file says twice happened twice.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from forensics.columns import LOGGED

UNNAMED = "unnamed:"
"""Prefix of the names that records without any id get; two such records are two."""
PLACE = ("file", "hop", "prefill_node", "decode_node", "received_at")
"""What is kept of an equal record."""
_KEY = ("request_id", "transfer_id", "hop", "received_at")


def without(frame: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the records without later equal ones, and those under :data:`PLACE` alone."""
    if not frame["request_id"].is_duplicated().any():
        return frame, _placed(frame.clear())
    known = pl.col("request_id").is_not_null() & ~pl.col("request_id").str.starts_with(UNNAMED)
    key = [name for name in _KEY if name in frame.columns]
    again = pl.struct(key).is_duplicated()
    suspect = frame.select((again & known.fill_null(value=False)).alias("again")).to_series()
    if not suspect.any():
        return frame, _placed(frame.clear())
    values = [column.name for column in LOGGED if column.name in frame.columns]
    # Numbered: one line can hold the records of several requests.
    among = frame.filter(suspect).sort("file", "line", *key).with_row_index("_row")
    kept = among.unique(values, keep="first", maintain_order=True)
    gone = among.join(kept.select("_row"), on="_row", how="anti")
    return pl.concat([frame.filter(~suspect), kept.drop("_row")]).rechunk(), _placed(gone)


def _placed(gone: pl.DataFrame) -> pl.DataFrame:
    # Copied: a log that was given twice would be held twice.
    return gone.select(name for name in PLACE if name in gone.columns).rechunk()


def without_copies(lines: pl.DataFrame, key: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the lines that no other file repeats, and the repeated ones.

    Args:
        lines: with ``file`` and ``line``.
        key: columns in which repeated lines are equal.
    """
    nth = pl.int_range(pl.len()).over(*key, "file", order_by="line")
    numbered = lines.with_columns(_nth=nth).sort("file", "line")
    kept = numbered.unique([*key, "_nth"], keep="first", maintain_order=True)
    if kept.height == lines.height:
        return lines, lines.clear()
    gone = numbered.join(kept.select("file", "line"), on=["file", "line"], how="anti")
    return kept.drop("_nth"), gone.drop("_nth")
