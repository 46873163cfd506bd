"""Pages in ascending order; freed ones wait and are sorted in when the free list runs short.

So disaggregated SGLang. Between two merges every taking is a stretch of one known list, so a
whole sweep is cut at once, and the pool is held as intervals of pages.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from forensics.attribution.allocators.base import NOBODY, Found, Reads, found
from forensics.attribution.holds import Ints
from forensics.attribution.orders import RESERVE, Order

NAME = "sorted-sweep"
MEANING = "lowest page first; freed pages are sorted in when the free list runs short"


Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class _Pool:
    """The pool as intervals: first page, length, who holds it, who wrote it last."""

    first: Ints
    length: Ints
    holder: Ints
    writer: Ints


def replay(order: Order, pool: int, reads: Reads) -> Found | None:
    """Return whose pages each read found, or None where the order needs more than the pool."""
    nobody = np.array([NOBODY], dtype=np.int64)
    state = _Pool(np.array([1]), np.array([pool]), nobody, nobody.copy())
    takes = np.flatnonzero(order.size > 0)
    parts: list[tuple[Ints, Ints, Ints]] = []
    partial = order.written < _reserved(order)
    at, last = 0, len(order.kind)
    while at < last:
        held = state.holder >= 0
        held[held] = order.release[state.holder[held]] >= at
        free = int(state.length[~held].sum())
        until = _next_merge(order, at, free)
        if order.taken[until] - order.taken[at] > free:
            return None
        begin, end = np.searchsorted(takes, [at, until])
        if end > begin:
            state, read = _sweep(order, state, held, takes[begin:end], at, partial, reads)
            parts += read
        at = until
    return found(parts, reads)


def _reserved(order: Order) -> Ints:
    pages = np.zeros(len(order.written), dtype=np.int64)
    reserve = order.kind == RESERVE
    pages[order.hold[reserve]] = order.size[reserve]
    return pages


def _next_merge(order: Order, at: int, free: int) -> int:
    """Return the first event that finds the free list too short while others wait in it."""
    limit = int(order.taken[at]) + free
    end = int(np.searchsorted(order.taken, limit, side="right"))
    end = min(end, len(order.kind))
    short = order.need[at:end] + order.taken[at:end] > limit
    short &= order.given[at:end] > order.given[at]
    return at + int(np.argmax(short)) if short.any() else end


def _sweep(
    order: Order,
    state: _Pool,
    held: Mask,
    takes: Ints,
    at: int,
    partial: Mask,
    reads: Reads,
) -> tuple[_Pool, list[tuple[Ints, Ints, Ints]]]:
    """Cut the free list by the takings; note whose pages reads found before they are written."""
    first, length, writer = state.first[~held], state.length[~held], state.writer[~held]
    ends, upto = np.cumsum(length), order.taken[takes + 1] - order.taken[at]
    spans = _unwritten(order, takes, upto, partial)
    cuts = np.concatenate([ends, upto, *(np.array(span) for span in spans)])
    cuts.sort(kind="stable")
    cuts = cuts[np.concatenate([[True], cuts[1:] != cuts[:-1]])]
    cuts = cuts[cuts > 0]
    begins = np.concatenate([[0], cuts[:-1]])
    home = np.searchsorted(ends, begins, side="right")
    taken = np.searchsorted(upto, begins, side="right")
    used = taken < len(takes)
    holder = np.where(used, order.hold[takes[np.minimum(taken, len(takes) - 1)]], NOBODY)
    before = writer[home]
    after = np.where(used, holder, before)
    for low, high in spans:
        one, other = np.searchsorted(begins, [low, high])
        after[one:other] = before[one:other]
    read = list(_read(order, takes, upto, begins, cuts - begins, before, reads))
    pages = first[home] + begins - (ends - length)[home]
    merged = _joined(state, held, _Pool(pages, cuts - begins, holder, after))
    return merged, read


def _unwritten(order: Order, takes: Ints, upto: Ints, partial: Mask) -> list[tuple[int, int]]:
    """Return the stretches of the list that were reserved and not written."""
    spans = []
    some = np.flatnonzero(partial[order.hold[takes]] & (order.kind[takes] == RESERVE))
    for number in some.tolist():
        hold = order.hold[takes[number]]
        end = int(upto[number])
        begin = end - int(order.size[takes[number]]) + int(order.written[hold])
        end -= int(order.last[hold])
        if begin < end:
            spans.append((begin, end))
    return spans


def _read(
    order: Order,
    takes: Ints,
    upto: Ints,
    begins: Ints,
    lengths: Ints,
    before: Ints,
    reads: Reads,
) -> list[tuple[Ints, Ints, Ints]]:
    """Return for each read of this sweep the last writers of its pages, and how many pages."""
    parts = []
    some = np.flatnonzero(reads.wanted[order.hold[takes]] & (order.kind[takes] == RESERVE))
    for number in some.tolist():
        hold = int(order.hold[takes[number]])
        end = int(upto[number])
        begin = end - int(order.size[takes[number]]) + int(reads.arrived[hold])
        if begin >= end:
            continue
        one, other = (
            np.searchsorted(begins + lengths, begin, side="right"),
            np.searchsorted(begins, end),
        )
        low = np.maximum(begins[one:other], begin)
        high = np.minimum((begins + lengths)[one:other], end)
        parts.append((np.full(other - one, hold), before[one:other], high - low))
    return parts


def _joined(state: _Pool, held: Mask, new: _Pool) -> _Pool:
    """Return held intervals and new ones in order of pages, neighbours of one kind as one."""
    first = np.concatenate([state.first[held], new.first])
    order = np.argsort(first, kind="stable")
    length = np.concatenate([state.length[held], new.length])[order]
    holder = np.concatenate([state.holder[held], new.holder])[order]
    writer = np.concatenate([state.writer[held], new.writer])[order]
    first = first[order]
    apart = np.concatenate([[True], (holder[1:] != holder[:-1]) | (writer[1:] != writer[:-1])])
    at = np.flatnonzero(apart)
    return _Pool(first[at], np.add.reduceat(length, at), holder[at], writer[at])
