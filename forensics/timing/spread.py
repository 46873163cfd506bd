"""How far honest times lie from the curve, what rates were seen, and up to which length.

Made from counts of ``ms / expected`` by node and octave of work, like the curve itself.
Requests that are :data:`FACTOR` times faster than expected may be what is looked for, so
they count in no width, rate or length; only where a node has too many of them they do.
Nor does the rate of a prompt over the limit count: what is looked for is among these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import polars as pl

from forensics.timing.bins import bin_of, counted, middle_of
from forensics.timing.work import GROUP, POOL, groups_of, together

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
    """Count rows with ``expected`` by group, octave of work and ratio.

    Of each group and octave, ``rate`` is the most tokens a millisecond and ``longest`` the most
    tokens, among the plausible ones.
    """
    ratio = bin_of(pl.col("ms") / pl.col("expected"), _RATIO_BITS)
    at = pl.col("group").cast(pl.Int64) * OCTAVES + bin_of(pl.col("uncached"), 0)
    binned = rows.select("uncached", "ms", "over", at=at, ratio_bin=ratio)
    keys, requests = counted(
        binned.select(pl.col("at") * _RATIOS + pl.col("ratio_bin")).to_series().to_numpy()
    )
    counts = pl.DataFrame(
        {
            "at": keys // _RATIOS,
            "ratio_bin": keys % _RATIOS,
            "requests": requests.astype(np.int64),
        }
    )
    found = counts.join(_extremes(binned), on="at", how="left").with_columns(
        group=(pl.col("at") // OCTAVES).cast(pl.UInt32), octave=pl.col("at") % OCTAVES
    )
    named = found.drop("at").join(groups_of(rows), on="group").drop("group")
    return named.select(*GROUP, "octave", "ratio_bin", "requests", "rate", "longest")


OCTAVES = 2**8
_RATIOS = 2**13
"""More than there are bins of each."""


def _extremes(binned: pl.DataFrame) -> pl.DataFrame:
    rate = pl.when(~pl.col("over")).then(pl.col("uncached") / pl.col("ms"))
    return (
        _plausible(binned)
        .select("at", rate=rate, longest="uncached")
        .group_by("at")
        .agg(pl.col("rate", "longest").max())
    )


def merge(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Add counts up; the order does not matter."""
    key = ["group", "octave"]
    rows, groups = together(parts)
    summed = rows.group_by(*key, "ratio_bin").agg(
        pl.col("requests").sum(), pl.col("rate", "longest").max()
    )
    whole = summed.with_columns(pl.col("rate", "longest").max().over(key)).sort(*key, "ratio_bin")
    named = whole.join(groups, on="group", how="left", maintain_order="left")
    return named.select(*GROUP, "octave", "ratio_bin", "requests", "rate", "longest")


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
