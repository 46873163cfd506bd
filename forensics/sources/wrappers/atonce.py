"""The lines behind a wrapper, of a whole block of records at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from forensics.sources.blocks import Block
from forensics.sources.times import in_utc
from forensics.sources.wrappers.inner import Whole


def numbered(block: Block, data: bytes, at: pl.Series) -> Block:
    """Return lines of which each one is a record of the block, written ``at`` its time."""
    numbers = np.arange(block.line, block.line + len(at))
    return Block(data, block.line, None, numbers=numbers, times=in_utc(at))


def joined(block: Block, texts: Sequence[str], at: pl.Series, sources: pl.Series) -> Whole | None:
    """Return the lines of a block's records; None where they need a closer look.

    That is where the last line goes on in the next block, and where the parts of a line may
    stand among those of another source.

    Args:
        block: the records.
        texts: what each record holds, with its line end if the line ends there.
        at: when each was written, RFC 3339.
        sources: of which output each record is.
    """
    ends = np.array([text[-1:] == "\n" for text in texts])
    whole = bool(ends.all())
    if not ends[-1] or not (whole or sources.n_unique() == 1):
        return None
    try:
        data = "".join(texts).encode()
    except UnicodeEncodeError:
        return None
    if data.count(b"\n") != int(ends.sum()) or b"\r" in data:
        return None
    if whole:
        return Whole(numbered(block, data, at))
    numbers = np.arange(block.line, block.line + len(texts))[ends]
    at = at.filter(pl.Series(ends))
    lines = Block(data, int(numbers[0]), None, numbers=numbers, times=in_utc(at))
    return Whole(lines, len(texts) - len(numbers))
