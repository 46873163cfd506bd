"""Rows of CSV to raw columns: only cells under wanted names become values."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Protocol

import polars as pl

from forensics.sources.blocks import LONGEST_LINE, Block, Source
from forensics.sources.context import Context
from forensics.sources.parsed import Parsed, Unread
from forensics.sources.values import CONTRADICTION, NOT_A_VALUE

if TYPE_CHECKING:
    from forensics.sources.foreign import Foreign

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
        lost = [text.number(at) for at in range(1, rows.line_num + 1)]
        unread = [Unread(line, None, "CSV header that cannot be parsed") for line in lost]
        yield CsvBatch(Parsed(read=len(lost), unread=unread))
        header = []
    table: _Table | None = _Table(header, wanted)
    while table is not None:
        found, table = _batch(rows, table, text, context.foreign if context else None)
        yield found


class _Table:
    """The columns of the rows behind one header; ``strange``: it is none of this format."""

    def __init__(
        self, header: Sequence[str], wanted: Mapping[str, str], *, strange: bool = False
    ) -> None:
        self.header = [name.strip() for name in header]
        self.wanted = wanted
        self.strange = strange
        names = enumerate(self.header)
        self.picked = [(at, wanted[name]) for at, name in names if name in wanted]

    def following(self, row: Sequence[str]) -> _Table | None:
        """Return the table that a row is the header of; None: it is a row of this one."""
        if self.wanted.keys().isdisjoint(row) and self.header[:1] != row[:1]:
            return None
        cells = [cell.strip() for cell in row]
        known = len(self.wanted.keys() & set(cells)) >= _TELLING
        return _Table(row, self.wanted) if known or cells == self.header else None

    def foreign(self, row: Sequence[str], line: int, foreign: Foreign | None) -> str | None:
        """Return why a row is unreadable that is the header of another format's table."""
        if foreign is None or foreign.headings.isdisjoint(row):
            return None
        text = ",".join(row)
        if not _NAMES.fullmatch(text):
            return None
        told = foreign(pl.Series([text]), pl.Series([line]))
        return told[0].reason if told else None


_TELLING = 2
"""Names of columns in a row that make it a header."""
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
        self._numbered: list[tuple[int, Block]] = []
        """Blocks whose lines may be asked for, without their bytes, and where each begins."""
        self.too_long: list[Unread] = []

    def __iter__(self) -> _TextLines:
        return self

    def __next__(self) -> str:
        for line in self._lines:
            self._given += 1
            return line.decode("utf-8", "surrogateescape")
        block = next(self._blocks)
        self._numbered.append((self._given + 1, replace(block, data=b"")))
        if block.reason is not None:
            self.too_long.append(Unread(block.line, block.offset, block.reason))
            self._given += 1
            return "\n"  # stands for the line, so that those after it keep their numbers
        self._lines = iter(io.BytesIO(block.data))
        return next(self)

    def number(self, line: int) -> int:
        """Return the number in the file of a line that was given, the first being 1.

        Lines that a wrapper held have those of its records, and lines from between which others
        were taken their own. They are asked for in order.
        """
        while len(self._numbered) > 1 and self._numbered[1][0] <= line:
            del self._numbered[0]
        begun, block = self._numbered[0]
        return block.number(line - begun)


def _batch(
    rows: _Rows, table: _Table, text: _TextLines, foreign: Foreign | None
) -> tuple[CsvBatch, _Table | None]:
    """Read rows up to :data:`CSV_ROWS` or a header; return also the table of those behind them."""
    held = _Held(table)
    before, behind = rows.line_num, None
    for row in islice(rows, CSV_ROWS):
        line, before = before + 1, rows.line_num
        behind = table
        if row == []:
            held.parsed.notes["blank line"] += 1
            continue
        numbers = [text.number(at) for at in range(line, before + 1)]
        behind, reason = _judged(row, table, numbers[0], foreign)
        if behind is not table and not behind.strange:
            held.parsed.read += len(numbers)
            held.parsed.ignored["further header"] += len(numbers)
        else:
            held.add(row, numbers, reason)
        if behind is not table:
            break
    _too_long(text, held.parsed)
    return held.batch(foreign), behind


class _Held:
    """Rows of a batch: what each is taken for, and those that look like records of JSON."""

    def __init__(self, table: _Table) -> None:
        self.parsed = Parsed()
        self._picked = table.picked
        self._places = [at for at, _ in table.picked]
        self._kept: list[list[str]] = []
        self._lines: list[int] = []
        self._several: dict[int, Sequence[int]] = {}
        self._records: dict[int, str] = {}

    def add(self, row: list[str] | None, numbers: Sequence[int], reason: str | None) -> None:
        """Take a row that begins on the first of some lines; ``reason``: it is unreadable."""
        if row is None or reason is not None:
            self._unread(numbers, reason or NO_CSV)
            return
        self._kept.append([row[at] for at in self._places])
        self._lines.append(numbers[0])
        if len(numbers) > 1:
            self._several[numbers[0]] = numbers
        if row[0].startswith("{"):
            self._records[numbers[0]] = ",".join(row)

    def batch(self, foreign: Foreign | None) -> CsvBatch:
        """Return the rows, without those that are records of another format."""
        theirs = self._theirs(foreign)
        if theirs:
            stay = [at for at, line in enumerate(self._lines) if line not in theirs]
            self._kept = [self._kept[at] for at in stay]
            self._lines = [self._lines[at] for at in stay]
        for line, reason in theirs.items():
            self._unread(self._several.get(line, [line]), reason)
        self.parsed.read += len(self._kept)
        lines = pl.Series(self._lines, dtype=pl.Int64)
        return CsvBatch(self.parsed, _columns(self._kept, self._picked), lines)

    def _unread(self, numbers: Sequence[int], reason: str) -> None:
        self.parsed.read += len(numbers)
        self.parsed.unread += [Unread(number, None, reason) for number in numbers]

    def _theirs(self, foreign: Foreign | None) -> dict[int, str]:
        if foreign is None or not self._records:
            return {}
        told = foreign(pl.Series(self._records.values()), pl.Series(self._records.keys()))
        return {one.line: one.reason for one in told if one.line is not None}


NO_CSV = "row that is no CSV: a quote or a line end out of place"


def _judged(
    row: list[str] | None, table: _Table, line: int, foreign: Foreign | None
) -> tuple[_Table, str | None]:
    """Return the table of the rows behind a row, and why the row itself cannot be read."""
    if row is None:
        return table, NO_CSV
    following = table.following(row)
    if following is not None:
        return following, None
    reason = table.foreign(row, line, foreign)
    if reason is not None:
        return _Table(row, table.wanted, strange=True), reason
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
    texts, others = first.cast(pl.String), second.cast(pl.String)
    same = _whole(texts).eq_missing(_whole(others))
    nothing = pl.repeat(CONTRADICTION, len(first), dtype=pl.String, eager=True)
    return first if same.all() else texts.zip_with(same, nothing)


def _whole(texts: pl.Series) -> pl.Series:
    """Return texts in which whole numbers have no fraction of zeros: those are equal."""
    return texts.str.replace(r"^(\d+)\.0*$", "$1")


def _utf8(cell: str) -> str:
    """Return the cell, or a stand-in that fits no type where its bytes are no UTF-8."""
    return cell if cell.isascii() or not _broken(cell) else NOT_A_VALUE


def _broken(cell: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in cell)
