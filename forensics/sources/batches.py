"""Small blocks while lines are decoded, large batches after it.

Decoding is fastest where a block and its values fit into the processor's cache; typing
costs the same for one row as for thousands.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from forensics.sources.blocks import Block
from forensics.sources.jsonlines import JsonColumns, Lines, Taken
from forensics.sources.mixed import Mixed

BATCH_ROWS = 32_768
BATCH_BYTES = 32 << 20
"""Bounds what a batch can hold where named values are long, as broken records have them."""


def batches(blocks: Iterable[Block], columns: JsonColumns) -> Iterator[Lines]:
    """Read blocks and yield what they gave, several blocks at a time."""
    sieve = blocks if isinstance(blocks, Mixed) else None
    left = iter(blocks)
    full = True
    while full:
        with _collector_at_rest():
            held, full = _taken(left, columns, sieve)
            found = columns.together(held)
            del held
        yield found


def _taken(
    left: Iterator[Block], columns: JsonColumns, sieve: Mixed | None
) -> tuple[list[Taken], bool]:
    """Return what the next blocks gave, and whether there may be more."""
    held: list[Taken] = []
    rows = size = 0
    for block in left:
        taken = columns.take(block, sieve)
        held.append(taken)
        rows, size = rows + taken.read, size + len(block.data)
        if rows >= BATCH_ROWS or size >= BATCH_BYTES:
            return held, True
    return held, False


@contextmanager
def _collector_at_rest() -> Iterator[None]:
    """Keep Python's collector of cycles from looking at rows, which are in none.

    It is woken by numbers of new objects alone, and took a tenth of the reading pass.
    """
    awake = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if awake:
            gc.enable()
