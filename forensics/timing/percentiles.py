"""5th percentile of prefill time per prompt-length bucket and day, from integer histograms.

Bins are the upper bits of the 32-bit float of the milliseconds: 16 bins an octave,
so a percentile is within about 3 % of the exact one. Counts add up exactly,
whatever the order or the machine they were counted on.
"""

from __future__ import annotations

import polars as pl

_BIN_BITS = 19
LONG_CONTEXT_TOKENS = 131_072
"""Buckets from here on are the long-context ones."""


def histogram(requests: pl.DataFrame) -> pl.DataFrame:
    """Count requests by ``day``, ``low`` (prompt length, a power of two) and time ``bin``."""
    rows = requests.filter(
        (pl.col("prefill_ms") > 0)
        & (pl.col("prompt_tokens") > 0)
        & pl.col("received_at").is_not_null()
    )
    bits = pl.col("prefill_ms").cast(pl.Float32).reinterpret(dtype=pl.UInt32)
    return (
        rows.select(
            day=day_of(pl.col("received_at")),
            low=bucket_of(pl.col("prompt_tokens")),
            bin=bits.cast(pl.Int64) // 2**_BIN_BITS,
        )
        .group_by("day", "low", "bin")
        .agg(pl.len().cast(pl.Int64).alias("requests"))
        .sort("day", "low", "bin")
    )


def p5(counts: pl.DataFrame) -> pl.DataFrame:
    """Return ``day, low, requests, p5_ms``: the middle of the bin that holds the percentile."""
    key = ["day", "low"]
    ranked = counts.sort(*key, "bin").with_columns(
        seen=pl.col("requests").cum_sum().over(key, order_by="bin"),
        total=pl.col("requests").sum().over(key),
    )
    reached = ranked.filter(pl.col("seen") * 20 >= pl.col("total"))
    first = reached.group_by(key).agg(pl.col("bin").min(), pl.col("total").first())
    low = (pl.col("bin") * 2**_BIN_BITS).cast(pl.UInt32).reinterpret(dtype=pl.Float32)
    high = ((pl.col("bin") + 1) * 2**_BIN_BITS).cast(pl.UInt32).reinterpret(dtype=pl.Float32)
    middle = (low.cast(pl.Float64) + high.cast(pl.Float64)) / 2
    return first.select(
        "day", "low", pl.col("total").alias("requests"), middle.alias("p5_ms")
    ).sort(key)


def day_of(micros: pl.Expr) -> pl.Expr:
    """Return the UTC day of a time, as text."""
    return micros.cast(pl.Datetime("us")).dt.to_string("%Y-%m-%d")


def bucket_of(tokens: pl.Expr) -> pl.Expr:
    """Return the largest power of two that is not larger, exactly (null for none)."""
    value = tokens.cast(pl.Float64).log(2).floor().cast(pl.Int64)
    low = pl.lit(2, dtype=pl.Int64).pow(value)
    low = pl.when(low > tokens).then(low // 2).when(low * 2 <= tokens).then(low * 2).otherwise(low)
    return pl.when(tokens > 0).then(low)
