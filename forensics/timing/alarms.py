"""The runbook's alarm: the 5th percentile of prefill time of a prompt-length bucket falls.

It knows nothing of cached tokens, so honest prompts with a cached prefix set it off too.
"""

from __future__ import annotations

import polars as pl

from forensics.timing.percentiles import HOUR, LONG_CONTEXT_TOKENS, histogram, p5

FALLEN = 0.5
"""Below this share of what is usual, as in the alerting rules."""


def hourly(requests: pl.DataFrame) -> pl.DataFrame:
    """Return ``hour, low, requests, p5_ms, usual_ms, long_context, alarm``, sorted.

    What is usual is the median over the hours, or that of a shorter bucket where it is
    larger: a bucket that is hit in most hours must not be its own measure.
    """
    found = p5(histogram(requests, HOUR))
    usual = found.group_by("low").agg(usual_ms=pl.col("p5_ms").median()).sort("low")
    usual = usual.with_columns(pl.col("usual_ms").cum_max())
    joined = found.join(usual, on="low", how="left", maintain_order="left")
    return joined.with_columns(
        long_context=pl.col("low") >= LONG_CONTEXT_TOKENS,
        alarm=pl.col("p5_ms") < FALLEN * pl.col("usual_ms"),
    )
