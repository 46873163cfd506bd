"""Frames to bytes: the one place where a table is encoded, behind the guard.

Parquet holds values as they are. CSV is opened in spreadsheets: lists are joined by
``;`` and cells that would run as a formula are neutralised.
"""

from __future__ import annotations

import io
from collections.abc import Iterator

import polars as pl

from forensics.guard import Table, checked


def parquet_bytes(frame: pl.DataFrame, declared: Table) -> bytes:
    """Return a frame as Parquet; the same frame gives the same bytes.

    Raises:
        PrivacyError: the frame is not the declared table.
    """
    return _parquet(checked(frame, declared), 3)


def parquet_pieces(
    frame: pl.DataFrame, declared: Table, keys: pl.DataFrame
) -> Iterator[tuple[tuple[str, ...], pl.DataFrame, bytes]]:
    """Yield key, rows and Parquet of the rows of each key, in order of the keys.

    Args:
        frame: all rows; held against the table once, as a whole.
        declared: the table.
        keys: text columns beside the rows, without null.

    Raises:
        PrivacyError: the frame is not the declared table.
    """
    checked(frame, declared)
    own = keys.rename({name: f"{name}=" for name in keys.columns})
    groups = frame.hstack(own).partition_by(
        own.columns, maintain_order=True, as_dict=True, include_key=False
    )
    for key in sorted(groups):
        yield key, groups[key], _parquet(groups[key], 1)


def _parquet(frame: pl.DataFrame, level: int) -> bytes:
    """Return Parquet under zstd; of small files, a higher level makes no smaller ones."""
    buffer = io.BytesIO()
    whole = frame.rechunk()
    whole.write_parquet(buffer, compression="zstd", compression_level=level, statistics=True)
    return buffer.getvalue()


def csv_bytes(frame: pl.DataFrame, declared: Table) -> bytes:
    """Return a frame as CSV that a spreadsheet opens without running a cell.

    Raises:
        PrivacyError: the frame is not the declared table.
    """
    shaped = _plain_times(checked(frame, declared)).with_columns(
        pl.col(name).list.join(";").alias(name)
        for name, dtype in frame.schema.items()
        if dtype == pl.List(pl.String)
    )
    inert = shaped.with_columns(
        _neutralised(name) for name, dtype in shaped.schema.items() if dtype == pl.String
    )
    return inert.write_csv(line_terminator="\n").encode()


def json_text(frame: pl.DataFrame, declared: Table) -> str:
    """Return a frame as a JSON array of rows, times as RFC 3339.

    Raises:
        PrivacyError: the frame is not the declared table.
    """
    return _plain_times(checked(frame, declared)).write_json()


def _plain_times(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(
        pl.col(name).dt.to_string("%Y-%m-%dT%H:%M:%S%.6fZ").alias(name)
        for name, dtype in frame.schema.items()
        if isinstance(dtype, pl.Datetime)
    )


_BLANKS = r"\s\x{00A0}\x{3000}\x{200B}-\x{200F}\x{202A}-\x{202E}\x{2066}-\x{2069}\x{FEFF}"
_STARTS = r"=+\-@|%\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}"
_RUNS = rf"^[{_BLANKS}]*[{_STARTS}]|^[\t\r\n]"


def _neutralised(name: str) -> pl.Expr:
    text = pl.col(name)
    return pl.when(text.str.contains(_RUNS)).then(pl.lit("'") + text).otherwise(text).alias(name)
