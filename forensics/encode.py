"""Frames to bytes: the one place where a table is encoded, behind the guard.

Parquet holds values as they are. CSV is opened in spreadsheets: lists are joined by
``;``, cells that would run as a formula are neutralised, and what cannot be seen, such as a
mark that turns the direction of reading, is written out as its number.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator

import polars as pl

from forensics.errors import PrivacyError
from forensics.guard import Table, checked, held
from forensics.shown import visible


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
        frame: all rows; held against the table once, as a whole. Columns of the table that it
            lacks are null in every row: they are added to what is written alone, since those of
            one kind of log are few, and null ones take as much memory as any.
        declared: the table.
        keys: text columns beside the rows, without null.

    Raises:
        PrivacyError: the frame is not the declared table.
    """
    held(frame, declared)
    own = keys.rename({name: f"{name}=" for name in keys.columns})
    groups = frame.hstack(own).partition_by(
        own.columns, maintain_order=True, as_dict=True, include_key=False
    )
    whole = _whole(frame.columns, declared)
    del frame, keys, own
    for key in sorted(groups):
        rows = groups.pop(key)
        yield key, rows, _parquet(rows.select(whole), 1)


def completed(frame: pl.DataFrame, declared: Table) -> pl.DataFrame:
    """Return the rows with all columns of a table, in its order; null where they have none."""
    return frame.select(_whole(frame.columns, declared))


def _whole(columns: Collection[str], declared: Table) -> list[pl.Expr]:
    """Return all columns of a table, in its order, for rows that have some of them."""
    own = set(columns)
    return [
        pl.col(name) if name in own else pl.lit(None, dtype=dtype).alias(name)
        for name, dtype in declared.dtypes.items()
    ]


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
    return _csv(_inert(_plain_times(checked(frame, declared))))


def text_pieces(
    frame: pl.DataFrame, declared: Table, by: str
) -> Iterator[tuple[str, bytes, bytes]]:
    """Yield CSV and lines of JSON of the rows of each value of a text column.

    The frame is held against the table, and encoded, once as a whole: a frame of its own
    for each of many values costs more than all their rows. JSON holds values as they are.

    Args:
        frame: rows sorted by that column, without null in it.
        declared: the table; no text of it may hold a line break.
        by: the column.

    Raises:
        PrivacyError: the frame is not the declared table, or a cell holds a line break.
    """
    plain = _plain_times(checked(frame, declared))
    head, *cells = _csv(_inert(plain)).splitlines(keepends=True)
    lines = plain.write_ndjson().encode().splitlines(keepends=True)
    if not len(cells) == len(lines) == plain.height:
        raise PrivacyError(f"{declared.name}: a line break in a value")
    at = 0
    for key, number in plain.group_by(by, maintain_order=True).len().iter_rows():
        end = at + number
        yield key, head + b"".join(cells[at:end]), b"".join(lines[at:end])
        at = end


def _csv(inert: pl.DataFrame) -> bytes:
    return inert.write_csv(line_terminator="\n").encode()


def _inert(frame: pl.DataFrame) -> pl.DataFrame:
    """Join lists, write out what is hidden, and neutralise cells that would run as a formula."""
    texts = {
        name: pl.col(name).list.join(";") if dtype == pl.List(pl.String) else pl.col(name)
        for name, dtype in frame.schema.items()
        if dtype in (pl.String, pl.List(pl.String))
    }
    neutral = frame.with_columns(_neutralised(text).alias(name) for name, text in texts.items())
    odd = neutral.select(_odd(name).unique().implode() for name in texts)
    found = {name: odd[name][0].to_list() for name in texts}
    return neutral.with_columns(
        pl.col(name).replace({text: visible(text) for text in cells})
        for name, cells in found.items()
        if cells
    )


def _odd(name: str) -> pl.Expr:
    """Return the texts of a column that may hold something that cannot be seen."""
    return pl.col(name).filter(pl.col(name).str.contains(r"[^\x20-\x7e]"))


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


def _neutralised(text: pl.Expr) -> pl.Expr:
    return pl.when(text.str.contains(_RUNS)).then(pl.lit("'") + text).otherwise(text)
