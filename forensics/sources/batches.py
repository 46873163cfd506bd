"""Small blocks while lines are decoded, large batches after it.

Decoding is fastest where a block and its values fit into the processor's cache; typing
costs the same for one row as for thousands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import polars as pl

from forensics.sources.blocks import Block, DamagedStreamError
from forensics.sources.jsonlines import Batch, Lines

BATCH_ROWS = 32_768
BATCH_BYTES = 32 << 20
"""Bounds what a batch can hold where named values are long, as broken records have them."""


def batches(blocks: Iterable[Block], read: Callable[[Block], Lines]) -> Iterator[Lines]:
    """Read blocks and yield what they gave, several blocks at a time.

    What was read before the stream breaks off is yielded before the error is passed on.
    """
    held: list[Lines] = []
    rows = size = 0
    try:
        for block in blocks:
            held.append(read(block))
            rows, size = rows + held[-1].read, size + len(block.data)
            if rows >= BATCH_ROWS or size >= BATCH_BYTES:
                yield _together(held)
                held, rows, size = [], 0, 0
    except (DamagedStreamError, OSError):
        yield _together(held)
        raise
    yield _together(held)


def _together(found: Sequence[Lines]) -> Lines:
    batches = [batch for lines in found for batch in lines.batches]
    kinds = ([batch for batch in batches if batch.odd is odd] for odd in (False, True))
    return Lines(
        [_joined(some) for some in kinds if some],
        [unread for lines in found for unread in lines.unread],
        sum(lines.blank for lines in found),
        sum(lines.read for lines in found),
    )


def _joined(batches: Sequence[Batch]) -> Batch:
    """Return batches as one; a column that some of them lack is null there."""
    first = {name: series for batch in reversed(batches) for name, series in batch.columns.items()}
    columns = {
        name: _concat([b.columns.get(name) for b in batches], batches, series.dtype)
        for name, series in first.items()
    }
    lines = pl.concat([batch.lines for batch in batches], rechunk=True)
    offsets = _concat([batch.offsets for batch in batches], batches, pl.Int64())
    return Batch(columns, lines, offsets, batches[0].odd)


def _concat(
    parts: Sequence[pl.Series | None], batches: Sequence[Batch], dtype: pl.DataType
) -> pl.Series:
    filled = [
        pl.Series([None], dtype=dtype).new_from_index(0, len(batch.lines)) if part is None else part
        for part, batch in zip(parts, batches, strict=True)
    ]
    return pl.concat(filled, rechunk=True)
