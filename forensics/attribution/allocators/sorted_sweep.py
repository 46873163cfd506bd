"""Pages in ascending order; freed ones wait and are sorted in when the free list runs short.

So disaggregated SGLang. Between two merges every taking is a stretch of one known list, so a
whole sweep is cut at once, and the pool is held as intervals of pages. Many orders go at the
same time, each in a lane of its own with a pool of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from forensics.attribution.allocators.base import NOBODY, Found, Part, Reads, found
from forensics.attribution.allocators.lanes import Lanes, ragged
from forensics.attribution.events import RESERVE, Order
from forensics.attribution.holds import Ints

NAME = "sorted-sweep"
MEANING = "lowest page first; freed pages are sorted in when the free list runs short"


Mask = npt.NDArray[np.bool_]
Stretches = tuple[Ints, Ints]
"""Where stretches of the free list begin and end, in order; none is empty, no two overlap."""


@dataclass(frozen=True)
class _Pool:
    """The pools as intervals: first page, length, who holds it, who wrote it last."""

    first: Ints
    length: Ints
    holder: Ints
    writer: Ints

    def only(self, kept: Mask | Ints) -> _Pool:
        """Return the intervals of a mask, or of these places in their order."""
        return _Pool(self.first[kept], self.length[kept], self.holder[kept], self.writer[kept])


@dataclass(frozen=True)
class _Takings:
    """Pages taken, in order: by whom, how many, and which are read or not written in part."""

    hold: Ints
    size: Ints
    bare: Mask
    read: Mask

    @classmethod
    def of(cls, order: Order, reads: Reads, takes: Ints) -> _Takings:
        """Return those of an order, and one of nobody behind them."""
        hold, size, reserve = order.hold[takes], order.size[takes], order.kind[takes] == RESERVE
        bare, read = reserve & (size > order.written[hold]), reserve & reads.wanted[hold]
        last: tuple[int, int, bool, bool] = (NOBODY, 0, False, False)
        columns = zip((hold, size, bare, read), last, strict=True)
        return cls(*(np.append(column, value).astype(column.dtype) for column, value in columns))

    def sweep(self, begin: Ints, end: Ints, left: Ints) -> _Takings:
        """Return those from each begin to its end, and what each lane then has left."""
        place = ragged(begin, end + 1)
        last = np.cumsum(end + 1 - begin) - 1
        place[last] = len(self.hold) - 1
        size = self.size[place]
        size[last] = left
        return _Takings(self.hold[place], size, self.bare[place], self.read[place])


def replay(order: Order, pool: int, reads: Reads) -> Found | None:
    """Return whose pages each read found, or None where the order needs more than the pool."""
    return replay_all([order], pool, reads)[0]


def replay_all(orders: Sequence[Order], pool: int, reads: Reads) -> list[Found | None]:
    """Return the same for each of several orders of the same holds."""
    lanes = Lanes.of(orders, reads)
    order, apart = lanes.order, pool + 1  # so that the pages of two lanes are no neighbours
    takes, reach = np.flatnonzero(order.size > 0), order.taken[:-1] + order.need
    takings, state = _Takings.of(order, lanes.reads, takes), _empty(len(orders), pool)
    at, last, parts = lanes.begin, lanes.end.copy(), list[Part]()
    fits = np.ones(len(orders), dtype=np.bool_)
    while (at < last).any():
        state = state.only((at < last)[state.first // apart])
        lane, held = state.first // apart, state.holder >= 0
        held[held] = order.release[state.holder[held]] >= at[lane[held]]
        free = np.zeros(len(orders), dtype=np.int64)
        np.add.at(free, lane[~held], state.length[~held])
        until = _next_merge(order, reach, at, last, free)
        left = free - (order.taken[until] - order.taken[at])
        if (left < 0).any():
            fits &= left >= 0
            last = np.where(left < 0, at, last)
            continue
        begin, end = np.searchsorted(takes, at), np.searchsorted(takes, until)
        if (begin < end).any():
            sweep = takings.sweep(begin, end, left)
            state, read = _swept(state, held, sweep, order, lanes.reads)
            parts.append(read)
        at = until
    every = lanes.split(found(parts, lanes.reads))
    return [one if fit else None for one, fit in zip(every, fits.tolist(), strict=True)]


def _empty(count: int, pool: int) -> _Pool:
    nobody = np.full(count, NOBODY)
    return _Pool(np.arange(count) * (pool + 1) + 1, np.full(count, pool), nobody, nobody)


def _next_merge(order: Order, reach: Ints, at: Ints, last: Ints, free: Ints) -> Ints:
    """Return the first event that finds a free list too short while others wait, of each lane.

    ``reach`` is how much had to be taken or free before each event.
    """
    limit = order.taken[at] + free
    until: Ints = np.minimum(np.searchsorted(order.taken, limit, side="right"), last)
    waits = np.searchsorted(order.given, order.given[at], side="right")
    spans = zip(waits.tolist(), until.tolist(), limit.tolist(), strict=True)
    for lane, (low, high, most) in enumerate(spans):
        short = reach[low:high] > most
        if short.any():
            until[lane] = low + int(short.argmax())
    return until


def _swept(
    state: _Pool, held: Mask, sweep: _Takings, order: Order, reads: Reads
) -> tuple[_Pool, Part]:
    """Cut the free list by the takings; note whose pages reads found before they are written."""
    free, upto = state.only(~held), np.cumsum(sweep.size)
    ends = np.cumsum(free.length)
    bare, read = _unwritten(sweep, upto, order), _reading(sweep, upto, reads)
    cuts = np.concatenate([ends, upto, *bare, *read])
    cuts.sort(kind="stable")
    cuts = cuts[np.concatenate([cuts[:1] > 0, cuts[1:] != cuts[:-1]])]
    cuts = cuts[cuts > 0]
    begins = np.concatenate([[0], cuts[:-1]])
    home = _each(np.arange(len(ends)), ends, cuts)
    holder = _each(sweep.hold, upto, cuts)
    before = free.writer[home]
    after = np.where(holder == NOBODY, before, holder)
    kept, seen = (ragged(*np.searchsorted(begins, stretches)) for stretches in (bare, read))
    after[kept] = before[kept]
    pages = free.first[home] + begins - (ends - free.length)[home]
    part = (holder[seen], before[seen], (cuts - begins)[seen])
    return _joined(state.only(held), _Pool(pages, cuts - begins, holder, after)), part


def _each(values: Ints, upto: Ints, cuts: Ints) -> Ints:
    """Return for each piece between cuts the value of that of ``upto`` in which it lies."""
    pieces = np.searchsorted(cuts, upto, side="right")
    pieces[1:] -= pieces[:-1].copy()
    each: Ints = np.repeat(values, pieces)
    return each


def _unwritten(sweep: _Takings, upto: Ints, order: Order) -> Stretches:
    """Return the stretches of the list that were reserved and not written."""
    some = np.flatnonzero(sweep.bare)
    hold, end = sweep.hold[some], upto[some]
    return _not_empty(end - sweep.size[some] + order.written[hold], end - order.last[hold])


def _reading(sweep: _Takings, upto: Ints, reads: Reads) -> Stretches:
    """Return the stretches of the list whose last writers a read found."""
    some = np.flatnonzero(sweep.read)
    end = upto[some]
    return _not_empty(end - sweep.size[some] + reads.arrived[sweep.hold[some]], end)


def _not_empty(low: Ints, high: Ints) -> Stretches:
    return low[low < high], high[low < high]


def _joined(held: _Pool, new: _Pool) -> _Pool:
    """Return held intervals and new ones in order of pages, neighbours of one kind as one."""
    first, length, holder, writer = (
        np.concatenate([getattr(held, name), getattr(new, name)])
        for name in ("first", "length", "holder", "writer")
    )
    both = _Pool(first, length, holder, writer).only(np.argsort(first, kind="stable"))
    apart = (both.holder[1:] != both.holder[:-1]) | (both.writer[1:] != both.writer[:-1])
    apart |= both.first[1:] != both.first[:-1] + both.length[:-1]
    at = np.flatnonzero(np.concatenate([[True], apart]))
    return _Pool(both.first[at], np.add.reduceat(both.length, at), both.holder[at], both.writer[at])
