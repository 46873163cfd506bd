"""Lines of text as a frame, in pieces that are large enough to be worth a look."""

from __future__ import annotations

import polars as pl

from forensics.sources.blocks import Block

TEXT_BYTES = 16 << 20
"""Text is read in larger pieces than blocks: a look at a few lines costs as much as at many."""


class Waiting:
    """Lines that wait until there are enough of them."""

    def __init__(self) -> None:
        self._frames: list[pl.DataFrame] = []
        self._bytes = 0

    def add(self, lines: pl.DataFrame, size: int) -> bool:
        """Take lines of ``size`` bytes, and say whether there are enough now."""
        self._frames.append(lines)
        self._bytes += size
        return self._bytes >= TEXT_BYTES

    def take(self) -> pl.DataFrame | None:
        """Return all lines that wait; None where there are none."""
        frames, self._frames, self._bytes = self._frames, [], 0
        return pl.concat(frames, how="diagonal") if frames else None


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
