"""The look-back curve: how many tenants ran on the rank within some time before the read.

A page is more likely to hold what was written lately, but nothing says so of one page: the
curve shows how fast the circle widens, and is no share of anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from forensics.activity import HOUR

HOURS = (0.25, 1, 3, 6, 12, 24, 72, 168)


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
        for found, number in zip(counts, _within(others, spans), strict=True):
            found += number
    rows = [
        (hours, *_middle_and_most(found, read), read)
        for hours, found in zip(spans, counts, strict=True)
    ]
    return pl.DataFrame(rows if read else [], schema=kinds, orient="row")


def _within(others: pl.DataFrame, spans: Sequence[float | None]) -> list[list[int]]:
    """Return for each time the number of tenants of each response within it."""
    back = pl.col("back")
    near = [back.count() if h is None else (back <= int(h * HOUR)).sum() for h in spans]
    named = [count.alias(f"{place}") for place, count in enumerate(near)]
    counts = others.group_by("_row").agg(named).drop("_row")
    return [counts[name].to_list() for name in counts.columns]


def _middle_and_most(counts: list[int], read: int) -> tuple[int, int]:
    every = sorted(counts, reverse=True) + [0] * (read - len(counts))
    return (every[len(every) // 2], every[0]) if every else (0, 0)
