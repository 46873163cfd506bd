"""How far honest times lie from the curve, what rates were seen, and up to which length.

Made from counts of ``ms / expected`` by node and octave of work, like the curve itself.
Requests that are :data:`FACTOR` times faster than expected may be what is looked for, so
they count in no width, rate or length; only where a node has too many of them they do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

from forensics.timing.bins import bin_of, middle_of
from forensics.timing.work import GROUP, POOL, groups_of

FACTOR = 3.0
"""Too fast is by this factor at least: faster than expected, and than any rate seen."""
_RATIO_BITS = 5
_FLOOR = 0.05
"""Least width, in natural logarithms: a bin's own."""
_ENOUGH = 20
_SEEN = 5
_OWN_RATE = 500
"""From so many requests on a node is held against its own rates, else against its model's."""
_MOST_BIAS = 0.7
_LOW, _HIGH = (0.20, 0.8416), (0.90, 1.2816)
"""Quantiles, and how many widths of a normal distribution they lie from the middle."""


def residuals(rows: pl.DataFrame) -> pl.DataFrame:
    """Count rows with ``expected`` by group, octave of work and ratio; keep the largest rate.

    ``rate`` is the most tokens a millisecond and ``longest`` the most tokens of each count.
    """
    key = ["group", "octave", "ratio_bin"]
    return (
        rows.select(
            "group",
            octave=bin_of(pl.col("uncached"), 0),
            ratio_bin=bin_of(pl.col("ms") / pl.col("expected"), _RATIO_BITS),
            uncached="uncached",
            rate=pl.col("uncached") / pl.col("ms"),
        )
        .group_by(key)
        .agg(
            pl.len().cast(pl.Int64).alias("requests"),
            pl.col("rate").max(),
            pl.col("uncached").max().alias("longest"),
        )
        .join(groups_of(rows), on="group")
        .sort(*GROUP, "octave", "ratio_bin")
    )


def of_octaves(counts: pl.DataFrame) -> pl.DataFrame:
    """Return ``octave_low`` and ``octave_high``, the widths at a length, by pool and octave.

    An octave with few plausible requests has those of the next shorter one that has more.
    """
    key = [*POOL, "octave"]
    found = _widths(_plausible(counts), key)
    bias = pl.col("middle").abs().clip(upper_bound=_MOST_BIAS)
    known = found.filter(pl.col("requests") >= _ENOUGH).select(
        *key, octave_low=pl.col("low") + bias, octave_high=pl.col("high") + bias
    )
    every = counts.select(key).unique().sort(key)
    joined = every.join(known, on=key, how="left", nulls_equal=True, maintain_order="left")
    return joined.with_columns(pl.col("octave_low", "octave_high").forward_fill().over(POOL))


def of_pools(counts: pl.DataFrame) -> pl.DataFrame:
    """Return each pool's widths, largest rate and the length up to which it was seen."""
    plausible = _plausible(counts)
    by_octave = plausible.group_by(*POOL, "octave").agg(
        pl.col("requests").sum(), pl.col("longest").max()
    )
    seen = by_octave.filter(pl.col("requests") >= _SEEN).group_by(POOL)
    rates = plausible.group_by(POOL).agg(pool_rate=pl.col("rate").max())
    widths = _widths(counts, POOL).select(*POOL, pool_low="low", pool_high="high")
    return widths.join(rates, on=POOL, how="left", nulls_equal=True).join(
        seen.agg(pl.col("longest").max()), on=POOL, how="left", nulls_equal=True
    )


def of_groups(counts: pl.DataFrame) -> pl.DataFrame:
    """Return how far each node is ``off`` its curve, and its largest rate if it has enough.

    Where one request in five is as fast as what is looked for, no curve fits that node: the
    cached tokens may be counted otherwise there. It is then off by its own width.
    """
    rates = _plausible(counts).group_by(GROUP).agg(node_rate=pl.col("rate").max())
    found = _widths(counts, GROUP).join(rates, on=GROUP, how="left", nulls_equal=True)
    fits = pl.col("lower") >= -math.log(FACTOR)
    enough = pl.col("requests") >= _ENOUGH
    return found.select(
        *GROUP,
        off=pl.when(enough).then(pl.when(fits).then(pl.col("middle").abs()).otherwise("low")),
        node_rate=pl.when(pl.col("requests") >= _OWN_RATE).then("node_rate"),
    )


def _plausible(counts: pl.DataFrame) -> pl.DataFrame:
    return counts.filter(middle_of(pl.col("ratio_bin"), _RATIO_BITS) >= 1 / FACTOR)


def _widths(counts: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Return ``middle``, ``low`` and ``high`` of the log ratio: median and widths to both sides."""
    key = list(by)
    merged = counts.group_by(*key, "ratio_bin").agg(pl.col("requests").sum())
    ranked = merged.sort("ratio_bin").with_columns(
        log=middle_of(pl.col("ratio_bin"), _RATIO_BITS).log()
    )
    found = ranked.group_by(key).agg(
        pl.col("requests").sum(),
        middle=_quantile(0.5),
        lower=_quantile(_LOW[0]),
        upper=_quantile(_HIGH[0]),
    )
    middle = pl.col("middle")
    return found.with_columns(
        low=((middle - pl.col("lower")) / _LOW[1]).clip(lower_bound=_FLOOR),
        high=((pl.col("upper") - middle) / _HIGH[1]).clip(lower_bound=_FLOOR),
    ).sort(key)


def _quantile(share: float) -> pl.Expr:
    requests = pl.col("requests")
    return pl.col("log").filter(requests.cum_sum() >= requests.sum() * share).first()
