"""Epoch numbers of a documented unit as RFC 3339 texts, which every reader's times may be."""

from __future__ import annotations

import polars as pl

_LAST_SECOND = 253_402_300_799
"""End of the year 9999."""
_NUMBER = r"^[0-9]{1,15}(?:\.[0-9]{1,12})?(?:[eE]\+?[0-9]{1,2})?$"


def texts(raw: pl.Series, per_second: int) -> pl.Series:
    """Return numbers, or texts of them, as RFC 3339 in UTC; any other text stays as it is.

    Args:
        raw: epoch numbers, whole or not, or texts.
        per_second: how many of their unit make a second.
    """
    frame = raw.to_frame("x")
    text = pl.col("x") if raw.dtype == pl.String else pl.lit(None, dtype=pl.String)
    number = pl.when(text.str.contains(_NUMBER)).then("x") if raw.dtype == pl.String else "x"
    column = pl.col(number) if isinstance(number, str) else number
    micros = _micros(column, per_second, whole=raw.dtype.is_integer())
    written = micros.cast(pl.Datetime("us")).dt.to_string("%Y-%m-%dT%H:%M:%S%.6fZ")
    return frame.select(pl.coalesce(written, text).alias(raw.name)).to_series()


def _micros(value: pl.Expr, per_second: int, *, whole: bool) -> pl.Expr:
    """Return microseconds since 1970; what can be no time is null."""
    if whole:
        sane = value.is_between(1, _LAST_SECOND * per_second)
        return pl.when(sane).then(value).cast(pl.Int64) * (1_000_000 // per_second)
    seconds = value.cast(pl.Float64, strict=False) / per_second
    sane = seconds.is_between(1e-6, _LAST_SECOND)
    return (pl.when(sane).then(seconds) * 1_000_000).round().cast(pl.Int64)
