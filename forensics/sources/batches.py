"""Small blocks while lines are decoded, large batches after it.

Decoding is fastest where a block and its values fit into the processor's cache; typing
costs the same for one row as for thousands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from forensics.sources.blocks import Block
from forensics.sources.jsonlines import JsonColumns, Lines, Taken

BATCH_ROWS = 32_768
BATCH_BYTES = 32 << 20
"""Bounds what a batch can hold where named values are long, as broken records have them."""


def batches(blocks: Iterable[Block], columns: JsonColumns) -> Iterator[Lines]:
    """Read blocks and yield what they gave, several blocks at a time."""
    held: list[Taken] = []
    rows = size = 0
    for block in blocks:
        held.append(columns.take(block))
        rows, size = rows + held[-1].read, size + len(block.data)
        if rows >= BATCH_ROWS or size >= BATCH_BYTES:
            yield columns.together(held)
            held, rows, size = [], 0, 0
    yield columns.together(held)
