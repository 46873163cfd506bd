"""The one reader of JSON lines: only named paths ever become objects.

A block is decoded in one go by a struct that has no field for content. Where that
fails, its lines are taken one by one: those that are no JSON go to the ledger with
the reason, and those whose values have an unexpected type are handed on as text, for
:mod:`forensics.sources.values` to judge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import Any

import polars as pl
from msgspec import Struct

from forensics.schema import Kind
from forensics.sources.blocks import Block
from forensics.sources.jsonodd import OddRows
from forensics.sources.jsonpaths import ABSENT, TOLD_APART, Path, tree
from forensics.sources.jsonrows import Rows, Values, series
from forensics.sources.jsontwice import Contradictions
from forensics.sources.mixed import Mixed
from forensics.sources.parsed import Unread
from forensics.sources.values import CONTRADICTION
from forensics.sources.within import begun

__all__ = ["Batch", "JsonColumns", "Lines", "Path", "split_lines"]


@dataclass
class Batch:
    """Raw columns of some lines, with the number and offset of each line.

    ``odd`` are lines with a value of an unexpected type; all their values are text.
    """

    columns: dict[str, pl.Series]
    lines: pl.Series
    offsets: pl.Series | None = None
    odd: bool = False


@dataclass
class Lines:
    """What some blocks gave."""

    batches: list[Batch] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    blank: int = 0
    read: int = 0

    @property
    def beyond(self) -> int:
        """How many more records were read than there are lines: one may hold several."""
        return _beyond(self.unread)


@dataclass
class _Part:
    """As a batch, but the values are not columns yet."""

    values: Values
    lines: Sequence[int]
    offsets: Sequence[int | None] | None = None


@dataclass
class Taken:
    """What one block gave: values that are cheap to put together with those of others."""

    usual: _Part | None = None
    odd: _Part | None = None
    unread: list[Unread] = field(default_factory=list)
    blank: int = 0
    read: int = 0


class JsonColumns:
    """Named paths of JSON lines as raw columns.

    Args:
        paths: column name to the path of keys that leads to its value.
        kinds: column name to how its value is read.

    Raises:
        IncidentError: two paths lead to one value, or one runs through another's.
    """

    def __init__(self, paths: Mapping[str, Path], kinds: Mapping[str, Kind]) -> None:
        self.tree = root = tree(paths, kinds)
        self._kinds = {column: kinds[column] for column in paths}
        self._rows = Rows(root)
        self._odd = OddRows(root)
        self._contradictions = Contradictions(root)

    def read(self, block: Block) -> Lines:
        """Return the columns of a block's lines, and what could not be read."""
        return self.together([self.take(block)])

    def take(self, block: Block, mixed: Mixed | None = None) -> Taken:
        """Return the values of a block's lines, and what could not be read.

        Args:
            block: the lines.
            mixed: what the block is of, where records of others may be among its lines.
        """
        if block.reason is not None:
            return Taken(unread=[Unread(block.line, block.offset, block.reason)], read=1)
        if not block.data:
            return Taken()
        _ = block.marks  # these give where lines end as well, which all else asks for
        if mixed is not None:
            found = self._rows.of_own(block, mixed.keys)
            if found is None:
                return self.take(mixed.own(block))
        else:
            found = self._rows.read(block)
        misfits = self._contradictions.of(block, found and found[0])
        if found is None or misfits:
            return self._one_by_one(block, misfits)
        values, count = found
        return Taken(_Part(values, block.all_numbers(count)), read=count)

    def together(self, taken: Sequence[Taken]) -> Lines:
        """Return what some blocks gave as columns; those without any value are left out."""
        usual = [one.usual for one in taken if one.usual is not None]
        odd = [one.odd for one in taken if one.odd is not None]
        texts: dict[str, Kind] = dict.fromkeys(self._kinds, "name")
        return Lines(
            [
                *([_batch(usual, self._kinds)] if usual else []),
                *([replace(_batch(odd, texts), odd=True)] if odd else []),
            ],
            [unread for one in taken for unread in one.unread],
            sum(one.blank for one in taken),
            sum(one.read for one in taken),
        )

    def _one_by_one(self, block: Block, misfits: Mapping[int, list[str]]) -> Taken:
        found, begin = Taken(), block.offset if block.numbers is None else None
        offset = 0
        good: list[Struct] = []
        good_at: list[tuple[int, int | None]] = []
        odd: list[dict[str, str | None]] = []
        odd_at: list[tuple[int, int | None]] = []
        for place, line in enumerate(split_lines(block.data)):
            number = block.number(place)
            at, offset = None if begin is None else begin + offset, offset + len(line)
            line = line.rstrip(b"\r\n")  # inside an open string it would look like another fault
            if not line.strip():
                found.blank += 1
                continue
            found.read += 1
            one = None if place in misfits else self._rows.one(line)
            if one is not None:
                good.append(one)
                good_at.append((number, at))
                continue
            row = self._odd.read(line)
            if isinstance(row, str):
                found.unread += [Unread(number, at, row)] * begun(line)
            else:
                odd.append(row | dict.fromkeys(misfits.get(place, ()), CONTRADICTION))
                odd_at.append((number, at))
        if good:
            found.usual = _part(self._rows.values(good), good_at)
        if odd:
            names = {name for row in odd for name in row}
            columns = Values({name: [row.get(name) for row in odd] for name in names})
            found.odd = _part(columns, odd_at)
        found.read += _beyond(found.unread)
        return found


def _beyond(unread: Sequence[Unread]) -> int:
    return len(unread) - len({one.line for one in unread})


def _part(values: Values, at: Sequence[tuple[int, int | None]]) -> _Part:
    return _Part(values, [line for line, _ in at], [offset for _, offset in at])


def _batch(parts: Sequence[_Part], kinds: Mapping[str, Kind]) -> Batch:
    """Return parts as one; a column that some of them lack is null there."""
    columns: dict[str, pl.Series] = {}
    names = {name for part in parts for name in part.values}
    for name in (name for name in kinds if name in names):
        nothing = ABSENT if name in TOLD_APART else None
        found = _joined([p.values.get(name) for p in parts], parts, nothing)
        column = series(name, kinds[name], found)
        empty = column.null_count() if nothing is None else int((column == nothing).sum())
        if empty < len(column):
            columns[name] = column
    lines = pl.Series(_joined([part.lines for part in parts], parts), dtype=pl.Int64)
    offsets = pl.Series(_joined([part.offsets for part in parts], parts), dtype=pl.Int64)
    return Batch(columns, lines, offsets)


def _joined(
    found: Sequence[Sequence[Any] | None], parts: Sequence[_Part], nothing: str | None = None
) -> Sequence[Any]:
    """Return the values of all parts; ``nothing`` for each of a part that has none."""
    if len(found) == 1 and found[0] is not None:
        return found[0]
    values: list[Any] = []
    for some, part in zip(found, parts, strict=True):
        values += repeat(nothing, len(part.lines)) if some is None else some
    return values


def split_lines(data: bytes) -> Iterator[bytes]:
    """Yield the lines of a block with their line ends."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", start) + 1 or len(data)
        yield data[start:end]
        start = end
