"""The one reader of JSON lines: only named paths ever become objects.

A block is decoded in one go by a struct that has no field for content. Where that
fails, its lines are taken one by one: those that are no JSON go to the ledger with
the reason, and those whose values have an unexpected type are handed on as text, for
:mod:`forensics.sources.values` to judge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl
from msgspec import Struct

from forensics.schema import Kind
from forensics.sources.blocks import Block
from forensics.sources.jsonodd import OddRows
from forensics.sources.jsonpaths import Path, tree
from forensics.sources.jsonrows import FAULTS, Rows
from forensics.sources.parsed import Unread

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
    """What one block gave."""

    batches: list[Batch] = field(default_factory=list)
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
        root = tree(paths, kinds)
        self._rows = Rows(root)
        self._odd = OddRows(root)

    def read(self, block: Block) -> Lines:
        """Return the columns of a block's lines, and what could not be read."""
        if block.reason is not None:
            return Lines(unread=[Unread(block.line, block.offset, block.reason)], read=1)
        if not block.data:
            return Lines()
        try:
            columns, count = self._rows.read(block.data)
        except FAULTS:
            return self._one_by_one(block)
        numbers = pl.int_range(block.line, block.line + count, dtype=pl.Int64, eager=True)
        return Lines([Batch(columns, numbers)], read=count)

    def _one_by_one(self, block: Block) -> Lines:
        found, offset = Lines(), block.offset
        good: list[Struct] = []
        good_at: list[tuple[int, int]] = []
        odd: list[dict[str, str | None]] = []
        odd_at: list[tuple[int, int]] = []
        for number, line in enumerate(split_lines(block.data), start=block.line):
            at, offset = offset, offset + len(line)
            line = line.rstrip(b"\r\n")  # inside an open string it would look like another fault
            if not line.strip():
                found.blank += 1
                continue
            found.read += 1
            try:
                good.append(self._rows.one(line))
                good_at.append((number, at))
                continue
            except FAULTS:
                pass
            row = self._odd.read(line)
            if isinstance(row, str):
                found.unread.append(Unread(number, at, row))
            else:
                odd.append(row)
                odd_at.append((number, at))
        if good:
            found.batches.append(_batch(self._rows.columns(good), good_at))
        if odd:
            names = sorted({name for row in odd for name in row})
            texts = {
                name: pl.Series(name, [row.get(name) for row in odd], dtype=pl.String)
                for name in names
            }
            found.batches.append(_batch(texts, odd_at, odd=True))
        return found


def split_lines(data: bytes) -> Iterator[bytes]:
    """Yield the lines of a block with their line ends."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", start) + 1 or len(data)
        yield data[start:end]
        start = end


def _batch(
    columns: dict[str, pl.Series], at: Sequence[tuple[int, int]], *, odd: bool = False
) -> Batch:
    lines = pl.Series([line for line, _ in at], dtype=pl.Int64)
    offsets = pl.Series([offset for _, offset in at], dtype=pl.Int64)
    return Batch(columns, lines, offsets, odd)
