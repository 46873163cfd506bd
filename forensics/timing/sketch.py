"""Counts of prefill times by work: what the fit is made from, whatever the number of rows.

Whole numbers only, so that parts of the rows can be counted anywhere and added up in any
order, to the same result.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from forensics.timing.bins import bin_of, counted, middle_of
from forensics.timing.work import GROUP, groups_of, together

_WORK_BITS, _CACHED_BITS, TIME_BITS = 2, 0, 4
"""Bins an octave, as powers of two: of uncached tokens, of cached tokens, of milliseconds."""
_CELL = ("uncached_bin", "cached_bin")
_SUMS = ("requests", "uncached", "cached")


def sketch(rows: pl.DataFrame) -> pl.DataFrame:
    """Count rows of :func:`forensics.timing.work.timed` whose work is known.

    The sums of a cell stand in a row of their own, whose time is none.
    """
    known = rows.filter(pl.col("uncached").is_not_null())
    cached = pl.when(pl.col("cached") > 0).then(bin_of(pl.col("cached"), _CACHED_BITS)).otherwise(0)
    cell = (pl.col("group") * _UNCACHED + bin_of(pl.col("uncached"), _WORK_BITS)) * _CACHED + cached
    binned = known.select("uncached", "cached", cell=cell, time=bin_of(pl.col("ms"), TIME_BITS))
    found = pl.concat([_times(binned), _sums(binned)], how="diagonal")
    found = found.with_columns(pl.col(_SUMS).fill_null(0)).sort("key")
    return _named(found, groups_of(known))


def _named(found: pl.DataFrame, groups: pl.DataFrame) -> pl.DataFrame:
    """Turn ``key`` back into the names and bins that it was made of."""
    cell = pl.col("key") // _TIMES
    opened = found.select(
        group=(cell // (_UNCACHED * _CACHED)).cast(pl.UInt32),
        uncached_bin=cell // _CACHED % _UNCACHED,
        cached_bin=cell % _CACHED,
        time_bin=pl.col("key") % _TIMES,
        **{name: pl.col(name) for name in _SUMS},
    )
    joined = opened.join(groups, on="group", how="left", maintain_order="left")
    return joined.select(*GROUP, *_CELL, "time_bin", *_SUMS)


_UNCACHED, _CACHED, _TIMES = 2**10, 2**8, 2**12
"""More than there are bins of each."""


def _times(binned: pl.DataFrame) -> pl.DataFrame:
    keys = binned.select(pl.col("cell") * _TIMES + pl.col("time")).to_series().to_numpy()
    found, requests = counted(keys)
    return pl.DataFrame({"key": found, "requests": requests.astype(np.int64)})


def _sums(binned: pl.DataFrame) -> pl.DataFrame:
    sums = binned.group_by("cell").agg(pl.col("uncached").sum(), pl.col("cached").sum())
    return sums.select("uncached", "cached", key=pl.col("cell") * _TIMES)


def merge(sketches: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Add sketches up; the order does not matter."""
    rows, groups = together(sketches)
    cell = (pl.col("group").cast(pl.Int64) * _UNCACHED + pl.col("uncached_bin")) * _CACHED
    key = (cell + pl.col("cached_bin")) * _TIMES + pl.col("time_bin")
    summed = rows.select(*_SUMS, key=key).group_by("key").agg(pl.col(_SUMS).sum())
    return _named(summed.sort("key"), groups)


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
