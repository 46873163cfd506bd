"""Lines of text as a frame, in pieces that are large enough to be worth a look."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from forensics.sources.blocks import Block
from forensics.sources.parsed import Unread

TEXT_BYTES = 16 << 20
"""Text is read in larger pieces than blocks: a look at a few lines costs as much as at many."""


class Waiting:
    """Lines that wait until there are enough of them."""

    def __init__(self) -> None:
        self._frames: list[pl.DataFrame] = []
        self._bytes = 0
        self._places: list[tuple[int, int, np.ndarray]] = []

    def add(self, lines: pl.DataFrame, block: Block) -> bool:
        """Take the lines of a block, and say whether there are enough now."""
        self._frames.append(lines)
        self._bytes += len(block.data)
        self._places += _place(block)
        return self._bytes >= TEXT_BYTES

    def take(self) -> pl.DataFrame | None:
        """Return all lines that wait; None where there are none."""
        frames, self._frames, self._bytes = self._frames, [], 0
        return pl.concat(frames, how="diagonal") if frames else None

    def locate(self, unread: list[Unread]) -> None:
        """Say of lines that were taken and could not be read where in the file they begin."""
        places, self._places = self._places, []
        _locate(unread, places)


def locate(unread: list[Unread], block: Block) -> None:
    """Say of lines of one block that could not be read where in the file they begin."""
    _locate(unread, _place(block))


def _place(block: Block) -> list[tuple[int, int, np.ndarray]]:
    # Lines that a wrapper held are not those of the file.
    known = block.numbers is None and block.offset is not None
    return [(block.line, block.offset or 0, block.ends)] if known else []


def _locate(unread: list[Unread], places: list[tuple[int, int, np.ndarray]]) -> None:
    for at, one in enumerate(unread):
        if one.offset is None and one.line is not None:
            unread[at] = replace(one, offset=_offset(one.line, places))


def _offset(line: int, places: list[tuple[int, int, np.ndarray]]) -> int | None:
    for first, offset, ends in reversed(places):
        if line >= first:
            before = line - first
            if before > len(ends):
                return None
            begin: int = offset + (int(ends[before - 1]) + 1 if before else 0)
            return begin
    return None


def frame(block: Block) -> tuple[bytes, pl.DataFrame]:
    """Return the block's bytes and its lines; what is no UTF-8 is replaced.

    Returns:
        ``line`` with the number of each line, ``text``, and ``outer`` in microseconds of UTC
        where a log collector gave the lines a time.
    """
    try:
        return block.data, _scan(block.data, block)
    except pl.exceptions.ComputeError:
        data = block.data.decode("utf-8", "replace").encode()
    return data, _scan(data, block)


def _scan(data: bytes, block: Block) -> pl.DataFrame:
    found = pl.scan_lines(data, name="text", row_index_name="line", row_index_offset=block.line)
    lines = found.with_columns(pl.col("line").cast(pl.Int64)).collect()
    if block.numbers is not None:
        lines = lines.with_columns(line=pl.Series(block.numbers, dtype=pl.Int64))
    return lines if block.times is None else lines.with_columns(outer=block.times)
