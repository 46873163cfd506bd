"""Frames of whatever kind a caller has, through narwhals: rows at hand, and as Polars."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import polars as pl


def eager(native: Any) -> nw.DataFrame[Any]:
    """Return a frame of any kind that narwhals knows with its rows at hand.

    Raises:
        TypeError: it is no frame.
    """
    frame = nw.from_native(native)
    return frame.collect() if isinstance(frame, nw.LazyFrame) else frame


def as_polars(frame: nw.DataFrame[Any]) -> pl.DataFrame:
    """Return a frame as Polars, with times that know their zone in UTC.

    An offset is a zone to pandas and Arrow, and pandas makes it of any text that ends with one;
    Polars knows those of whole hours alone.
    """
    zoned = [
        name
        for name, kind in frame.schema.items()
        if isinstance(kind, nw.Datetime) and kind.time_zone not in (None, "UTC")
    ]
    utc = [nw.col(name).dt.convert_time_zone("UTC") for name in zoned]
    return (frame.with_columns(utc) if utc else frame).to_polars()
