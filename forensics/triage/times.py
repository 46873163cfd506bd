"""Prefill times of counted rows, as files of arrays: read again for each pass of the scores."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from forensics.believed import JOINED
from forensics.timing import blocks, work
from forensics.timing.bins import Integers
from forensics.timing.blocks import Block

TIMED = (
    "prefill_ms",
    "model",
    "received_at",
    "prefill_node",
    "prompt_tokens",
    "prefill_prompt_tokens",
    "decode_prompt_tokens",
    "cached_tokens",
    "prefill_tokens",
)
"""Columns that a time is judged by."""
_NARROW = {"row": np.uint32, "group": np.uint32, "uncached": np.uint32, "cached": np.uint32}


@dataclass(frozen=True)
class Basis:
    """What tells which times can be compared: the format of the input, and capacity epochs."""

    format: str | None
    epochs: pl.DataFrame

    def save(self, rows: pl.DataFrame, path: Path) -> Path:
        """Write the timed ones among some settled rows, each by its place among them."""
        asked = rows.with_row_index("handoff").with_columns(
            assumed=pl.lit(value=False),
            limit_low=pl.lit(None, dtype=pl.Int64),  # below all of them
            hop=pl.lit(JOINED),
            file=pl.lit(0, dtype=pl.Int32),
        )
        timed = work.timed(asked, asked, {0: self.format}, self.epochs)
        with path.open("wb") as file:
            for block in blocks.of(timed):
                file.write(json.dumps(block.groups).encode() + b"\n")
                for name, kind in _NARROW.items():
                    np.save(file, getattr(block, name).astype(kind))
                np.save(file, block.ms)
                np.save(file, block.minute)
        return path


@dataclass(frozen=True)
class Times:
    """Files of :meth:`Basis.save`, and how many rows each was made of."""

    files: Sequence[tuple[Path, int]]
    first: int

    def blocks(self) -> Iterator[Block]:
        """Yield all of them; rows are numbered through the files, from ``first`` on."""
        at = self.first
        for path, rows in self.files:
            for block in _read(path):
                yield replace(block, row=block.row + at)
            at += rows

    def places(self, numbers: Integers) -> Iterator[tuple[int, Integers]]:
        """Yield the number of each file with some of the rows, and their places in it."""
        ends = self.first + np.cumsum([rows for _, rows in self.files])
        owner = np.searchsorted(ends, numbers, side="right")
        for file in np.unique(owner).tolist():
            begin = int(ends[file]) - self.files[file][1]
            yield file, np.sort(numbers[owner == file]) - begin


def _read(path: Path) -> Iterator[Block]:
    with path.open("rb") as file:
        while head := file.readline():
            groups = tuple(tuple(group) for group in json.loads(head))
            wide = {name: np.load(file).astype(np.int64) for name in _NARROW}
            ms, minute = np.load(file), np.load(file)
            over = np.zeros(len(ms), dtype=np.bool_)
            told = partial(_as_is, minute)
            yield Block(groups, **wide, ms=ms, over=over, below=~over, told=told)


def _as_is(minute: Integers) -> Integers:
    return minute
