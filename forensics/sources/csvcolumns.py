"""Rows of CSV to raw columns: only cells under wanted names become values."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Protocol

import numpy as np
import polars as pl

from forensics.sources.blocks import LONGEST_LINE, Source
from forensics.sources.parsed import Parsed, Unread
from forensics.sources.values import NOT_A_VALUE

CSV_ROWS = 50_000


class _Reader(Protocol):
    line_num: int

    def __next__(self) -> list[str]: ...


@dataclass
class CsvBatch:
    """Some rows: what was read and not, and columns of text with the line that each begins on."""

    parsed: Parsed
    columns: dict[str, pl.Series] = field(default_factory=dict)
    lines: pl.Series = field(default_factory=lambda: pl.Series(dtype=pl.Int64))


def read_rows(opened: Source, wanted: Mapping[str, str]) -> Iterator[CsvBatch]:
    """Yield the rows of CSV in batches; quoted line ends are allowed.

    A row with the wrong number of fields is unreadable. When it spans several lines
    (a broken quote swallows its neighbours), each of them counts.

    Args:
        opened: the file; its first row is the header.
        wanted: name in the header to name of the column.
    """
    # As long as a line may be: what follows an open quote must not fill the memory.
    csv.field_size_limit(LONGEST_LINE)
    text = _TextLines(opened)
    rows = _Rows(csv.reader(text, strict=True))
    header = next(rows, [])
    if header is None:
        yield CsvBatch(Parsed(read=1, unread=[Unread(1, 0, "CSV header that cannot be parsed")]))
        header = []
    picked = [
        (at, wanted[name.strip()]) for at, name in enumerate(header) if name.strip() in wanted
    ]
    more = True
    while more:
        found, more = _batch(rows, len(header), picked, text)
        yield found


class _Rows:
    """Rows of a CSV reader that goes on after a row it cannot parse (None then)."""

    def __init__(self, reader: _Reader) -> None:
        self._reader = reader

    def __iter__(self) -> _Rows:
        return self

    def __next__(self) -> list[str] | None:
        try:
            return next(self._reader)
        except csv.Error:
            return None

    @property
    def line_num(self) -> int:
        """Number of lines read so far."""
        return self._reader.line_num


class _TextLines:
    """Lines of a file as text, for :mod:`csv`; keeps bytes that are no UTF-8 apart."""

    def __init__(self, opened: Source) -> None:
        self._blocks = opened.blocks()
        self._lines: Iterator[bytes] = iter(())
        self._given = 0
        self._numbered: list[tuple[int, np.ndarray]] = []
        self.too_long: list[Unread] = []

    def __iter__(self) -> _TextLines:
        return self

    def __next__(self) -> str:
        for line in self._lines:
            self._given += 1
            return line.decode("utf-8", "surrogateescape")
        block = next(self._blocks)
        if block.numbers is not None:
            self._numbered.append((self._given + 1, block.numbers))
        if block.reason is not None:
            self.too_long.append(Unread(block.line, block.offset, block.reason))
            self._given += 1
            return "\n"  # stands for the line, so that those after it keep their numbers
        self._lines = iter(io.BytesIO(block.data))
        return next(self)

    def number(self, line: int) -> int:
        """Return the number in the file of a line that was given, the first being 1.

        Lines that a wrapper held have those of its records. They are asked for in order.
        """
        while len(self._numbered) > 1 and self._numbered[1][0] <= line:
            del self._numbered[0]
        begun, numbers = self._numbered[0] if self._numbered else (line + 1, None)
        return line if numbers is None or line < begun else int(numbers[line - begun])


def _batch(
    rows: _Rows, width: int, picked: Sequence[tuple[int, str]], text: _TextLines
) -> tuple[CsvBatch, bool]:
    """Read up to :data:`CSV_ROWS` rows; return also whether more may follow."""
    parsed = Parsed()
    kept: list[list[str]] = []
    lines: list[int] = []
    before = rows.line_num
    more = False
    for row in islice(rows, CSV_ROWS):
        more = True
        line, after = before + 1, rows.line_num
        spanned, before = after - before, after
        if row == []:
            parsed.notes["blank line"] += 1
        elif row is None or len(row) != width:
            parsed.read += spanned
            reason = (
                "row that is no CSV: a quote or a line end out of place"
                if row is None
                else f"{len(row)} fields where the header has {width}"
            )
            parsed.unread += [
                Unread(text.number(line + step), None, reason) for step in range(spanned)
            ]
        else:
            parsed.read += 1
            kept.append([row[at] for at, _ in picked])
            lines.append(text.number(line))
    parsed.read += len(text.too_long)
    parsed.unread += text.too_long
    parsed.notes["blank line"] -= len(text.too_long)
    text.too_long = []
    found = CsvBatch(parsed, lines=pl.Series(lines, dtype=pl.Int64))
    if kept:
        for (_, name), cells in zip(picked, zip(*kept, strict=True), strict=True):
            series = pl.Series(name, [_utf8(cell) for cell in cells], dtype=pl.String)
            known = found.columns.get(name)
            found.columns[name] = series if known is None else agreed(known, series)
    return found, more


def agreed(first: pl.Series, second: pl.Series) -> pl.Series:
    """Return what two columns of one name hold; where they differ it is no value."""
    texts = first.cast(pl.String)
    same = texts.eq_missing(second.cast(pl.String))
    nothing = pl.repeat(NOT_A_VALUE, len(first), dtype=pl.String, eager=True)
    return first if same.all() else texts.zip_with(same, nothing)


def _utf8(cell: str) -> str:
    """Return the cell, or a stand-in that fits no type where its bytes are no UTF-8."""
    return cell if cell.isascii() or not _broken(cell) else NOT_A_VALUE


def _broken(cell: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in cell)
