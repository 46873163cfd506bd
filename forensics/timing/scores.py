"""Each request's time against what was to be expected, and which are too far from it.

Two things make a request too fast, and both are needed: the false-discovery rate over all
tested requests (Benjamini and Hochberg) says that chance does not explain it, and it ran
:data:`~forensics.timing.spread.FACTOR` times faster than any rate seen on its node. A
request whose cached tokens are not known is never tested.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import polars as pl

from forensics.timing import baseline, spread
from forensics.timing.bins import bin_of
from forensics.timing.fit import Array
from forensics.timing.sketch import sketch
from forensics.timing.spread import FACTOR
from forensics.timing.work import GROUP, POOL, groups_of

FALSE_DISCOVERIES = 0.001
"""Expected share of false ones among the requests called too fast, and among the slow ones."""
_PER_OCTAVE = 0.25
"""How much wider the expectation is for each octave beyond the lengths that were seen."""
SCORES = ("expected_prefill_ms", "timing_ratio", "timing_fast", "timing_slow")


def score(rows: pl.DataFrame) -> pl.DataFrame:
    """Return ``_row`` and :data:`SCORES` of the rows that could be tested.

    Args:
        rows: of :func:`forensics.timing.work.timed`.
    """
    known = rows.filter(pl.col("uncached").is_not_null())
    tested = _expected(known, baseline.curves(sketch(known)))
    tested = _with_widths(tested)
    off = (pl.col("ms") / pl.col("expected")).log()
    tested = tested.with_columns(
        fast_z=-off / _width("low"), slow_z=off / _width("high"), ratio=off.exp()
    )
    fast = discovered(tested["fast_z"].to_numpy())
    slow = discovered(tested["slow_z"].to_numpy())
    rate = pl.col("uncached") / pl.col("ms")
    return tested.select(
        "_row",
        expected_prefill_ms=pl.col("expected"),
        timing_ratio=pl.col("ms") / pl.col("expected"),
        timing_fast=(pl.col("fast_z") >= fast)
        & (pl.col("ms") * FACTOR < pl.col("expected"))
        & (rate > FACTOR * pl.col("fastest")),
        timing_slow=(pl.col("slow_z") >= slow) & (pl.col("ms") > FACTOR * pl.col("expected")),
    )


def _expected(rows: pl.DataFrame, curves: pl.DataFrame) -> pl.DataFrame:
    """Add ``expected`` milliseconds; rows without a curve are left out."""
    work = pl.col("uncached").cast(pl.Float64)
    ms = pl.col("fixed") + pl.col("token") * work
    ms = ms + pl.col("pair") * work * (pl.col("cached") + work / 2)
    own = groups_of(rows).join(curves, on=GROUP, nulls_equal=True)
    found = rows.join(own.select("group", "fixed", "token", "pair"), on="group", how="inner")
    return found.with_columns(expected=ms.round_sig_figs(6)).filter(pl.col("expected") > 0)


def _with_widths(rows: pl.DataFrame) -> pl.DataFrame:
    """Add the widths of node, pool and length, and the rate to be held against."""
    counts = spread.residuals(rows)
    groups = groups_of(rows)
    for table, key in ((spread.of_pools(counts), POOL), (spread.of_groups(counts), GROUP)):
        groups = groups.join(table, on=key, how="left", nulls_equal=True)
    octaves = groups.select("group", *POOL).join(
        spread.of_octaves(counts), on=POOL, nulls_equal=True
    )
    rows = rows.with_columns(octave=bin_of(pl.col("uncached"), 0))
    rows = rows.join(groups.drop(GROUP), on="group", how="left")
    rows = rows.join(octaves.drop(POOL), on=["group", "octave"], how="left")
    seen = pl.coalesce("node_rate", "pool_rate", 0.0)
    return rows.with_columns(
        # The curve's own pace far out: a node that saw short prompts only saw no such rate.
        fastest=pl.max_horizontal(seen, pl.when(pl.col("token") > 0).then(1 / pl.col("token")))
    )


def _width(side: str) -> pl.Expr:
    """Return the width in natural logarithms, wider where no such length was seen.

    Times of short prompts are wide upwards, since they wait for their batch: they say nothing
    of long ones, so each length has a width of its own.
    """
    own = pl.coalesce(f"octave_{side}", f"pool_{side}") + pl.col("off").fill_null(0.0)
    beyond = (pl.col("uncached") / pl.col("longest")).log(2).clip(lower_bound=0)
    return (own**2 + (_PER_OCTAVE * beyond.fill_null(_UNSEEN)) ** 2).sqrt()


_UNSEEN = 20.0
"""Octaves beyond what was seen, where nothing was."""


def discovered(scores: Array, rate: float = FALSE_DISCOVERIES) -> float:
    """Return the least score that is significant, infinite where none is.

    Of all scores in order, the last whose one-sided probability is at most ``rate`` times
    its place over the number of scores (Benjamini and Hochberg).

    Args:
        scores: in widths of a normal distribution, one per tested request.
        rate: share of false ones among those found that is put up with.
    """
    candidates = np.sort(scores[scores >= NormalDist().inv_cdf(1 - rate)])[::-1]
    chance = np.array([math.erfc(score / math.sqrt(2)) / 2 for score in candidates.tolist()])
    place = np.arange(1, len(candidates) + 1)
    found = np.flatnonzero(chance <= rate * place / len(scores)) if len(scores) else place[:0]
    return float(candidates[found[-1]]) if len(found) else math.inf
