"""Stretches of time that overlap, told as one."""

from __future__ import annotations

import polars as pl

_EVER = 1 << 62


def together(stretches: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
    """Return begin and end of stretches (``begin``, ``end``) that overlap or touch, sorted."""
    rows = stretches.sort("begin", "end").with_columns(
        before=pl.col("end").cum_max().shift(1, fill_value=-_EVER)
    )
    group = ((pl.col("begin") > pl.col("before")) | (pl.int_range(pl.len()) == 0)).cum_sum()
    whole = rows.group_by(group=group).agg(pl.col("begin").min(), pl.col("end").max())
    whole = whole.sort("begin")
    return whole["begin"], whole["end"]
