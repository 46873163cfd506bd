"""What the stages share about frames of records: absent columns, and counts per file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

import polars as pl

from forensics import schema

LOGGED = (*schema.OBSERVATION_COLUMNS, *schema.ENGINE_COLUMNS)
"""Every column that a record of a request can fill."""
DTYPES = {
    **schema.dtypes(LOGGED),
    **schema.ORIGIN,
    "assumed": pl.Boolean(),
    "prompt_seen": pl.Int64(),
    "sizes_differ": pl.Boolean(),
}


def ensure(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Add columns that no record filled, as null."""
    here = set(frame.columns)
    absent = [_absent(name) for name in names if name not in here]
    return frame.with_columns(absent) if absent else frame


@cache
def _absent(name: str) -> pl.Expr:
    return pl.lit(None, dtype=DTYPES[name]).alias(name)


_AT_A_TIME = 131_072


def pieces(rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yield some rows at a time, at least once: what is worked out of each is there for few."""
    yield from rows.iter_slices(_AT_A_TIME) if rows.height else (rows,)


def per_file(rows: pl.DataFrame) -> dict[int, int]:
    """Count records per file number."""
    counts = rows.group_by("file").len().sort("file")
    return dict(counts.select("file", "len").iter_rows())
