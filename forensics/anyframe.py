"""Frames of whatever kind a caller has, through narwhals: rows at hand, and as Polars."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import polars as pl

KINDS = "Polars (eager or lazy), pandas, pyarrow Table and RecordBatch, DuckDB, Dask, narwhals"
"""What comes back as it went in."""


def unknown(native: Any) -> TypeError:
    """Return the error for what is no frame of these kinds; it names the type alone."""
    kind = type(native)
    return TypeError(
        f"{kind.__module__}.{kind.__qualname__} is no frame that is known here; these are: {KINDS}."
        " Readers and data sets of pyarrow give a Table by read_all() or to_table()"
    )


def eager(native: Any) -> nw.DataFrame[Any]:
    """Return a frame of any kind that narwhals knows, or a batch of Arrow, with its rows at hand.

    Raises:
        TypeError: it is no frame.
    """
    import pyarrow as pa

    if isinstance(native, pa.RecordBatch):
        native = pa.Table.from_batches([native])
    try:
        frame = nw.from_native(native)
    except TypeError:
        raise unknown(native) from None
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
