"""Offsets between a node's own wall clock and the epoch stamps in its lines."""

from __future__ import annotations

import polars as pl

from forensics.sources.parsed import Parsed

QUARTER_HOUR = 900_000_000
"""Microseconds; zones differ by whole quarters of an hour."""


_NEAREST = (pl.col("offset") + QUARTER_HOUR // 2) // QUARTER_HOUR * QUARTER_HOUR


def count_offsets(offsets: pl.Series, node: str, parsed: Parsed) -> None:
    """Count microseconds that the wall clock was ahead, to the nearest quarter of an hour."""
    quarters = offsets.alias("offset").to_frame().group_by(_NEAREST).len()
    for value, count in quarters.iter_rows():
        if value is not None:
            parsed.clock[node, value] += count
