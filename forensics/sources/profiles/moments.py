"""Moments and lengths of time in the unit that a profile states."""

from __future__ import annotations

import polars as pl

from forensics.incident import Logs
from forensics.sources.profiles.shape import TimeUnit
from forensics.sources.times import times

_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_TICKS_AT_1970 = 621_355_968_000_000_000
_FIRST, _LAST = 1_420_070_400, 4_102_444_800
"""2015 to 2099, seconds: a number outside is of another unit, and no moment of a log."""
_WITHOUT_ZONE = r"^\s*\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,12})?\s*$"
_DATED = r"^\s*\d{4}-\d\d-\d\d"
_DTYPE = pl.Datetime("us", "UTC")


def moments(text: pl.Series, unit: TimeUnit) -> pl.Series:
    """Return moments: texts as they are where they may lack a zone, else datetimes of UTC.

    Null where the text is none of that unit.
    """
    if unit in ("rfc3339", "utc"):
        dated = pl.when(pl.col("x").str.contains(_DATED)).then("x")
        zoned = pl.when(pl.col("x").str.contains(_WITHOUT_ZONE)).then(
            pl.col("x").str.strip_chars() + "Z"
        )
        shown = dated if unit == "rfc3339" else pl.coalesce(zoned, dated)
        return text.to_frame("x").select(shown.alias(text.name)).to_series()
    micros = text.to_frame("x").select(_micros(unit).cast(_DTYPE).alias(text.name))
    return micros.to_series()


def _micros(unit: TimeUnit) -> pl.Expr:
    if unit == "epoch":
        return pl.coalesce(_since_1970(scale) for scale in _PER_SECOND.values())
    if unit == "ticks":
        ticks = _whole() - _TICKS_AT_1970
        return pl.when(ticks.is_between(_FIRST * 10**7, _LAST * 10**7)).then(ticks // 10)
    return _since_1970(_PER_SECOND[unit])


def _since_1970(scale: int) -> pl.Expr:
    """Return microseconds of a number of units; whole ones exactly, all to the nearest."""
    whole, number = _whole(), pl.col("x").cast(pl.Float64, strict=False)
    exact = whole * (1_000_000 // scale) if scale <= 1_000_000 else whole // (scale // 1_000_000)
    rounded = (number * (1_000_000 / scale)).round().cast(pl.Int64, strict=False)
    fits = number.is_between(_FIRST * scale, _LAST * scale)
    return pl.when(fits).then(pl.coalesce(exact, rounded))


def _whole() -> pl.Expr:
    return pl.col("x").str.extract(r"^\s*(\d{1,19})\s*$", 1).cast(pl.Int64, strict=False)


def later(moment: pl.Series, by: pl.Series, unit: str) -> pl.Series:
    """Return moments of UTC that lie so much later; null where either is unknown.

    Args:
        moment: as :func:`moments` returns them.
        by: lengths of time as text.
        unit: of those.
    """
    if moment.dtype == pl.String:
        found = times(moment, Logs())
        at = found.values.zip_with(~found.naive, pl.Series([None], dtype=pl.Int64))
    else:
        at = moment.to_physical()
    micros = (numbers(by) * (1_000_000 / _PER_SECOND[unit])).round()
    return (at + micros.cast(pl.Int64, strict=False)).cast(_DTYPE).alias(moment.name)


def milliseconds(text: pl.Series, unit: str | None) -> pl.Series:
    """Return lengths of time in milliseconds; null where the text is no number."""
    return numbers(text) * (1_000 / _PER_SECOND[unit or "ms"])


def numbers(text: pl.Series) -> pl.Series:
    """Return texts as finite numbers."""
    number = text.cast(pl.Float64, strict=False)
    return number.to_frame("x").select(pl.when(pl.col("x").is_finite()).then("x")).to_series()
