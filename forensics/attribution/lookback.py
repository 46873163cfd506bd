"""The look-back curve: how many tenants ran on the rank within some time before the read.

A page is more likely to hold what was written lately, but nothing says so of one page: the
curve shows how fast the circle widens, and is no share of anything.
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from forensics.activity import HOUR

HOURS = (0.25, 1, 3, 6, 12, 24, 72, 168)
_NONE = 2**62


def curve(met: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Return ``hours`` (null: since the start), ``median`` and ``most`` tenants, ``responses``.

    Args:
        met: responses with tenants that ran on their rank before, and ``last_at``; each
            response in one of the frames.
    """
    kinds = {"hours": pl.Float64, "median": pl.Int64, "most": pl.Int64, "responses": pl.Int64}
    spans: list[float | None] = [*HOURS, None]
    counts, read = [list[int]() for _ in spans], 0
    for batch in met:
        read += batch["_row"].n_unique()
        other = (pl.col("source_tenant_id") != pl.col("tenant_id")).fill_null(value=True)
        others = batch.filter(other).select("_row", back=pl.col("read") - pl.col("last_at"))
        for found, hours in zip(counts, spans, strict=True):
            found += _within(others, _NONE if hours is None else int(hours * HOUR))
    rows = [
        (hours, *_middle_and_most(found, read), read)
        for hours, found in zip(spans, counts, strict=True)
    ]
    return pl.DataFrame(rows if read else [], schema=kinds, orient="row")


def _within(others: pl.DataFrame, span: int) -> list[int]:
    """Return the number of tenants of each response that has any within a time."""
    return others.filter(pl.col("back") <= span).group_by("_row").len()["len"].to_list()


def _middle_and_most(counts: list[int], read: int) -> tuple[int, int]:
    every = sorted(counts, reverse=True) + [0] * (read - len(counts))
    return (every[len(every) // 2], every[0]) if every else (0, 0)
