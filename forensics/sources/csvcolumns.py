"""Rows of CSV to raw columns: only cells under wanted names become values."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Protocol

import numpy as np
import polars as pl

from forensics.sources.blocks import LONGEST_LINE, Source
from forensics.sources.context import Context
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


def read_rows(
    opened: Source, wanted: Mapping[str, str], context: Context | None = None
) -> Iterator[CsvBatch]:
    """Yield the rows of CSV in batches; quoted line ends are allowed.

    A row with the wrong number of fields is unreadable. When it spans several lines
    (a broken quote swallows its neighbours), each of them counts. Where tables were put
    together, each header names the columns of the rows behind it.

    Args:
        opened: the file; its first row is the header.
        wanted: name in the header to name of the column.
        context: the file, for headers and records of other formats in it.
    """
    # As long as a line may be: what follows an open quote must not fill the memory.
    csv.field_size_limit(LONGEST_LINE)
    text = _TextLines(opened)
    rows = _Rows(csv.reader(text, strict=True))
    header = next(rows, [])
    if header is None:
        yield CsvBatch(Parsed(read=1, unread=[Unread(1, 0, "CSV header that cannot be parsed")]))
        header = []
    table: _Table | None = _Table(header, wanted)
    while table is not None:
        found, table = _batch(rows, table, text, context)
        yield found


class _Table:
    """The columns of the rows behind one header; ``strange``: it is none of this format."""

    def __init__(
        self, header: Sequence[str], wanted: Mapping[str, str], *, strange: bool = False
    ) -> None:
        self.header = [name.strip() for name in header]
        self.wanted = wanted
        self.strange = strange
        self.asks = _ASKS
        """How often a row may still be looked at as one of another format."""
        names = enumerate(self.header)
        self.picked = [(at, wanted[name]) for at, name in names if name in wanted]

    def following(self, row: Sequence[str]) -> _Table | None:
        """Return the table that a row is the header of; None: it is a row of this one."""
        if self.wanted.keys().isdisjoint(row) and self.header[:1] != row[:1]:
            return None
        cells = [cell.strip() for cell in row]
        known = len(self.wanted.keys() & set(cells)) >= _TELLING
        return _Table(row, self.wanted) if known or cells == self.header else None

    def foreign(self, row: Sequence[str], line: int, context: Context | None) -> str | None:
        """Return why a row is unreadable that another format would take for its own."""
        named = row[0].startswith("{") or (row[0].isidentifier() and row[-1].isidentifier())
        if not named or not self.asks or context is None or context.foreign is None:
            return None
        text = ",".join(row)
        if not (text.startswith("{") or _NAMES.fullmatch(text)):
            return None
        self.asks -= 1
        told = context.foreign(pl.Series([text]), pl.Series([line]))
        return told[0].reason if told else None


_TELLING = 2
"""Names of columns in a row that make it a header."""
_ASKS = 50
_NAMES = re.compile(r"[A-Za-z_][\w .()-]*(?:,[A-Za-z_][\w .()-]*)+")


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
    rows: _Rows, table: _Table, text: _TextLines, context: Context | None
) -> tuple[CsvBatch, _Table | None]:
    """Read rows up to :data:`CSV_ROWS` or a header; return also the table of those behind them."""
    parsed = Parsed()
    kept: list[list[str]] = []
    lines: list[int] = []
    before, behind = rows.line_num, None
    for row in islice(rows, CSV_ROWS):
        line, before = before + 1, rows.line_num
        behind = table
        if row == []:
            parsed.notes["blank line"] += 1
            continue
        numbers = [text.number(at) for at in range(line, before + 1)]
        behind, reason = _judged(row, table, numbers[0], context)
        if behind is not table and not behind.strange:
            parsed.read += len(numbers)
            parsed.ignored["further header"] += len(numbers)
        elif reason is not None or row is None:
            parsed.read += len(numbers)
            parsed.unread += [Unread(number, None, reason or NO_CSV) for number in numbers]
        else:
            parsed.read += 1
            kept.append([row[at] for at, _ in table.picked])
            lines.append(numbers[0])
        if behind is not table:
            break
    _too_long(text, parsed)
    return CsvBatch(parsed, _columns(kept, table.picked), pl.Series(lines, dtype=pl.Int64)), behind


NO_CSV = "row that is no CSV: a quote or a line end out of place"


def _judged(
    row: list[str] | None, table: _Table, line: int, context: Context | None
) -> tuple[_Table, str | None]:
    """Return the table of the rows behind a row, and why the row itself cannot be read."""
    if row is None:
        return table, NO_CSV
    following = table.following(row)
    if following is not None:
        return following, None
    foreign = table.foreign(row, line, context)
    if foreign is not None:
        names = not row[0].startswith("{")
        return (_Table(row, table.wanted, strange=True) if names else table), foreign
    if table.strange:
        return table, "row under the header of another format"
    if len(row) != len(table.header):
        return table, f"{len(row)} fields where the header has {len(table.header)}"
    return table, None


def _too_long(text: _TextLines, parsed: Parsed) -> None:
    """Count the lines that could not be held; blank ones stand for them."""
    parsed.read += len(text.too_long)
    parsed.unread += text.too_long
    parsed.notes["blank line"] -= len(text.too_long)
    text.too_long = []


def _columns(kept: list[list[str]], picked: Sequence[tuple[int, str]]) -> dict[str, pl.Series]:
    columns: dict[str, pl.Series] = {}
    if kept:
        for (_, name), cells in zip(picked, zip(*kept, strict=True), strict=True):
            series = pl.Series(name, [_utf8(cell) for cell in cells], dtype=pl.String)
            known = columns.get(name)
            columns[name] = series if known is None else agreed(known, series)
    return columns


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
