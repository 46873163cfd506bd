"""Counts of prefill times by work: what the fit is made from, whatever the number of rows.

Whole numbers only, so that parts of the rows can be counted anywhere and added up in any
order, to the same result.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from forensics.timing.bins import bin_of, middle_of
from forensics.timing.work import GROUP, groups_of

_WORK_BITS, _CACHED_BITS, TIME_BITS = 2, 0, 4
"""Bins an octave, as powers of two: of uncached tokens, of cached tokens, of milliseconds."""
_CELL = ("uncached_bin", "cached_bin")
_SUMS = ("requests", "uncached", "cached")


def sketch(rows: pl.DataFrame) -> pl.DataFrame:
    """Count rows of :func:`forensics.timing.work.timed` whose work is known."""
    known = rows.filter(pl.col("uncached").is_not_null())
    cached = pl.when(pl.col("cached") > 0).then(bin_of(pl.col("cached"), _CACHED_BITS)).otherwise(0)
    binned = known.select(
        "group",
        "uncached",
        "cached",
        uncached_bin=bin_of(pl.col("uncached"), _WORK_BITS),
        cached_bin=cached,
        time_bin=bin_of(pl.col("ms"), TIME_BITS),
    )
    counted = binned.group_by("group", *_CELL, "time_bin").agg(
        pl.len().cast(pl.Int64).alias("requests"), pl.col("uncached").sum(), pl.col("cached").sum()
    )
    return merge([counted.join(groups_of(known), on="group").drop("group")])


def merge(sketches: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Add sketches up; the order does not matter."""
    key = [*GROUP, *_CELL, "time_bin"]
    together = pl.concat([part.select(*key, *_SUMS) for part in sketches])
    return together.group_by(key).agg(pl.col(name).sum() for name in _SUMS).sort(key)


def cells(counts: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Return one row per cell of work: ``requests``, mean ``uncached``, ``cached``, median ``ms``.

    Args:
        counts: a sketch.
        by: columns of the group that are kept apart; nodes are pooled without theirs.
    """
    key = [*by, *_CELL]
    merged = counts.group_by(*key, "time_bin").agg(pl.col(name).sum() for name in _SUMS)
    requests = pl.col("requests")
    found = (
        merged.sort("time_bin")
        .group_by(key)
        .agg(
            requests.sum(),
            pl.col("uncached").sum() / requests.sum(),
            pl.col("cached").sum() / requests.sum(),
            pl.col("time_bin").filter(requests.cum_sum() * 2 >= requests.sum()).first(),
        )
    )
    return found.with_columns(ms=middle_of(pl.col("time_bin"), TIME_BITS)).sort(key)
