"""What the stages share about frames of records: absent columns, and counts per file."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from forensics import schema

LOGGED = (*schema.OBSERVATION_COLUMNS, *schema.ENGINE_COLUMNS)
"""Every column that a record of a request can fill."""
DTYPES = {**schema.dtypes(LOGGED), **schema.ORIGIN, "assumed": pl.Boolean()}


def ensure(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Add columns that no record filled, as null."""
    absent = [name for name in names if name not in frame.columns]
    return frame.with_columns(pl.lit(None, dtype=DTYPES[name]).alias(name) for name in absent)


def per_file(rows: pl.DataFrame) -> dict[int, int]:
    """Count records per file number."""
    counts = rows.group_by("file").len().sort("file")
    return dict(counts.select("file", "len").iter_rows())
