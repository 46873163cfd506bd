"""The runbook's alarm: the 5th percentile of prefill time of a prompt-length bucket falls.

It knows nothing of cached tokens, so honest prompts with a cached prefix set it off too.
"""

from __future__ import annotations

import polars as pl

from forensics.timing.percentiles import HOUR, LONG_CONTEXT_TOKENS, histogram, p5

FALLEN = 0.5
"""Below this share of what is usual, as in the alerting rules."""
_WEEK = 7 * 24
_FIRST = 6
"""Hours of a bucket before any alarm on it can know what is usual."""


def hourly(requests: pl.DataFrame) -> pl.DataFrame:
    """Return ``hour, low, requests, p5_ms, usual_ms, long_context, alarm``, sorted.

    What is usual is the median over the hours, or that of a shorter bucket where it is
    larger: a bucket that is hit in most hours must not be its own measure.
    """
    found = p5(histogram(requests, HOUR))
    if not found.height:
        return _NO_HOURS
    usual = found.group_by("low").agg(usual_ms=pl.col("p5_ms").median()).sort("low")
    usual = usual.with_columns(pl.col("usual_ms").cum_max())
    return _judged(found.join(usual, on="low", how="left", maintain_order="left"))


def foreseen(requests: pl.DataFrame) -> pl.DataFrame:
    """Return the same as :func:`hourly` as it could be known at the end of each hour.

    What is usual is the median over the last 168 hours of that bucket before this one, at
    least six, or that of a shorter bucket; ``usual_ms`` is null where there were fewer.
    """
    found = p5(histogram(requests, HOUR))
    if not found.height:
        return _NO_HOURS
    every = found.select("hour").unique().join(found.select("low").unique(), how="cross")
    past = found.sort("hour").with_columns(
        usual_ms=pl.col("p5_ms")
        .rolling_median(_WEEK, min_samples=_FIRST)
        .over("low", order_by="hour")
    )
    usual = every.join(past.select("hour", "low", "usual_ms"), on=["hour", "low"], how="left").sort(
        "low", "hour"
    )
    # A bucket that is silent in an hour lends the next longer one all that was known before.
    before = pl.col("usual_ms").forward_fill().shift()
    usual = usual.with_columns(before.over("low", order_by="hour"))
    usual = usual.with_columns(pl.col("usual_ms").cum_max().over("hour", order_by="low"))
    usual = usual.with_columns(pl.col("usual_ms").forward_fill().over("hour", order_by="low"))
    return _judged(found.join(usual, on=["hour", "low"], how="left", maintain_order="left"))


_NO_HOURS = pl.DataFrame(
    schema={
        "hour": pl.Int64,
        "low": pl.Int64,
        "requests": pl.Int64,
        "p5_ms": pl.Float64,
        "usual_ms": pl.Float64,
        "long_context": pl.Boolean,
        "alarm": pl.Boolean,
    }
)


def _judged(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(
        long_context=pl.col("low") >= LONG_CONTEXT_TOKENS,
        alarm=(pl.col("p5_ms") < FALLEN * pl.col("usual_ms")).fill_null(value=False),
    )
