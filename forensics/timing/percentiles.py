"""5th percentile of prefill time per prompt-length bucket and day or hour, from histograms.

Bins are the upper bits of the 32-bit float of the milliseconds: 16 bins an octave,
so a percentile is within about 3 % of the exact one. Counts add up exactly,
whatever the order or the machine they were counted on.
"""

from __future__ import annotations

import polars as pl

from forensics.timing.bins import bin_of, middle_of

_BITS = 4
_MANTISSA = 2**52
HOUR_US = 3_600_000_000
"""An hour, in microseconds."""
LONG_CONTEXT_TOKENS = 131_072
"""Buckets from here on are the long-context ones."""


def day_of(micros: pl.Expr) -> pl.Expr:
    """Return the UTC day of a time, as text."""
    return micros.cast(pl.Datetime("us")).dt.to_string("%Y-%m-%d")


def hour_of(micros: pl.Expr) -> pl.Expr:
    """Return the start of the hour of a time, in microseconds."""
    return micros // HOUR_US * HOUR_US


def bucket_of(tokens: pl.Expr) -> pl.Expr:
    """Return the largest power of two that is not larger, exactly (null for none)."""
    exponent = tokens.cast(pl.Float64).reinterpret(dtype=pl.UInt64) // _MANTISSA
    low = (
        (exponent * _MANTISSA)
        .reinterpret(dtype=pl.Float64)
        .cast(pl.Int64, strict=False)
        .fill_null(2**62)
    )
    # What was too long for a float of 64 bits may have been rounded up to the next power.
    return pl.when(tokens > 0).then(pl.when(low > tokens).then(low // 2).otherwise(low))


_DAY = day_of(pl.col("received_at")).alias("day")
HOUR = hour_of(pl.col("received_at")).alias("hour")


READ = ("prefill_ms", "prompt_tokens", "received_at")
"""What :func:`histogram` reads of requests."""


def histogram(requests: pl.DataFrame, period: pl.Expr = _DAY) -> pl.DataFrame:
    """Count requests by period, ``low`` (prompt length, a power of two) and time ``bin``.

    Args:
        requests: with :data:`READ`.
        period: the day, under the name ``day``, or :data:`HOUR`.
    """
    rows = requests.select(READ).filter(
        (pl.col("prefill_ms") > 0)
        & (pl.col("prompt_tokens") > 0)
        & pl.col("received_at").is_not_null()
    )
    key = [period.meta.output_name(), "low", "bin"]
    return (
        rows.select(
            period,
            low=bucket_of(pl.col("prompt_tokens")),
            bin=bin_of(pl.col("prefill_ms"), _BITS),
        )
        .group_by(key)
        .agg(pl.len().cast(pl.Int64).alias("requests"))
        .sort(key)
    )


def p5(counts: pl.DataFrame) -> pl.DataFrame:
    """Return period, ``low, requests, p5_ms``: the middle of the bin that holds the percentile."""
    key = [name for name in counts.columns if name not in ("bin", "requests")]
    requests = pl.col("requests")
    reached = pl.col("bin").filter(requests.cum_sum() * 20 >= requests.sum()).first()
    first = counts.sort(*key, "bin").group_by(key).agg(requests.sum(), p5_ms=reached)
    return first.with_columns(middle_of(pl.col("p5_ms"), _BITS)).sort(key)
