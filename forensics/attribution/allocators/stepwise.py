"""Replay one event after another, for strategies whose free list has no sorted stretches.

Slower than cutting whole sweeps: the free list is a deque of intervals, and each taking is
served from its head.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from forensics.attribution.allocators.base import NOBODY, Found, Reads, found
from forensics.attribution.events import RELEASE, RESERVE, Order

Interval = tuple[int, int, int]
"""Coordinate of the first page, number of pages, last writer."""
Free = deque[Interval]
GiveBack = Callable[[Free, list[Interval]], None]


def replay(order: Order, pool: int, reads: Reads, give_back: GiveBack) -> Found | None:
    """Return whose pages each read found, or None where the order needs more than the pool.

    Args:
        order: events in order.
        pool: pages of the rank.
        reads: which holds read.
        give_back: puts the intervals of a finished request into the free list.
    """
    free: Free = deque([(1, pool, NOBODY)])
    held: dict[int, list[Interval]] = {}
    parts = []
    for kind, hold, size in zip(order.kind.tolist(), order.hold.tolist(), order.size.tolist()):  # noqa: B905
        if kind == RELEASE:
            give_back(free, held.pop(hold, []))
        elif size:
            taken = _take(free, size)
            if taken is None:
                return None
            if kind == RESERVE and reads.wanted[hold]:
                parts += _read(taken, hold, int(reads.arrived[hold]))
            upto = int(order.written[hold]) if kind == RESERVE else size
            last = kind == RESERVE and bool(order.last[hold])
            held.setdefault(hold, []).extend(_written(taken, hold, upto, size - last))
    columns = [tuple(np.array([value], dtype=np.int64) for value in part) for part in parts]
    return found(columns, reads)  # type: ignore[arg-type]


def _take(free: Free, pages: int) -> list[Interval] | None:
    taken = []
    while pages:
        if not free:
            return None
        first, length, writer = free.popleft()
        if length > pages:
            free.appendleft((first + pages, length - pages, writer))
            length = pages
        taken.append((first, length, writer))
        pages -= length
    return taken


def _read(taken: list[Interval], hold: int, arrived: int) -> list[tuple[int, int, int]]:
    """Return reader, last writer and pages of what lies behind the pages that arrived."""
    parts = []
    for _, length, writer in taken:
        rest = min(length, max(0, length - arrived))
        arrived = max(0, arrived - length)
        if rest:
            parts.append((hold, writer, rest))
    return parts


def _written(taken: list[Interval], hold: int, upto: int, since: int) -> list[Interval]:
    """Return the intervals with their new writer: the first pages, and those from ``since`` on."""
    pieces, at = [], 0
    for first, length, writer in taken:
        end = at + length
        cuts = sorted({at, end, *(cut for cut in (upto, since) if at < cut < end)})
        for low, high in pairwise(cuts):
            mine = high <= upto or low >= since
            pieces.append((first + low - at, high - low, hold if mine else writer))
        at = end
    return pieces
