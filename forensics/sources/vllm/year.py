"""Times that are written without a year: month, day and clock, as the engine prints them."""

from __future__ import annotations

import polars as pl

from forensics.years import UNTOLD, Span, nearest

MONTH_DAY = r"[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}"
NO_YEAR = "time without a year"
"""Notes a time whose year stays untold."""
_FORMAT = "%Y-%m-%d %H:%M:%S"


def local(stamp: pl.Expr, span: Span | None) -> pl.Expr:
    """Return the microseconds of ``MM-DD HH:MM:SS`` on the clock that wrote it.

    Null where the span does not decide the year, or no year has that day. Without a span the
    year stays untold, until all files have been read.
    """
    text = pl.concat_str(pl.lit(f"{UNTOLD:04}-"), stamp)
    untold = text.str.to_datetime(_FORMAT, time_unit="us", strict=False).to_physical()
    return untold if span is None else nearest(untold, span)
