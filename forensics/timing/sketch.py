"""Counts of prefill times by work: what the fit is made from, whatever the number of rows.

Whole numbers only, so that parts of the rows can be counted anywhere and added up in any
order, to the same result.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from forensics.timing.bins import ONE, Integers, bins_of, middles_of
from forensics.timing.blocks import Block
from forensics.timing.counts import Counter, Tally, merged, numbered, reached, runs, spans
from forensics.timing.fit import Array

_WORK_BITS, _CACHED_BITS, TIME_BITS = 2, 0, 4
"""Bins an octave, as powers of two: of uncached tokens, of cached tokens, of milliseconds."""
_UNCACHED, _CACHED, _TIMES = 2**8, 2**6, 2**12
"""More than there are bins of each."""


class Sketch:
    """How many requests took which time, by group and cell of work, and the tokens of a cell."""

    def __init__(self) -> None:
        self._times, self._tokens = Counter(), Tally()

    def add(self, block: Block, group: Integers) -> None:
        """Count the rows of a block; ``group`` is the number of each one's group."""
        cell = _cell(block, group)
        self._times.add(cell * _TIMES + bins_of(block.ms, TIME_BITS))
        cells, place = numbered(cell)
        sums = (np.bincount(place, tokens) for tokens in (block.uncached, block.cached))
        self._tokens.add(cells, *(one.astype(np.int64) for one in sums))

    def times(self) -> Cells:
        """Return a place for each time of each cell, of one group each."""
        keys, requests = self._times.total()
        _cells, uncached, cached = self._tokens.total()
        cell, time = np.divmod(keys, _TIMES)
        first = runs(cell)
        size = np.diff(first, append=len(cell))
        number = np.add.reduceat(requests, first)
        return Cells(
            owner=cell // (_UNCACHED * _CACHED),
            requests=requests,
            uncached=np.repeat(uncached / number, size),
            cached=np.repeat(cached / number, size),
            ms=middles_of(time, TIME_BITS),
        )

    def cells(self, pools: Integers | None = None) -> Cells:
        """Return the cells of each group, or of each pool.

        Args:
            pools: the number of each group's pool.
        """
        keys, requests = self._times.total()
        cells, uncached, cached = self._tokens.total()
        if pools is not None:
            keys, requests = merged(_owned(keys, pools, _TIMES), requests)
            cells, uncached, cached = merged(_owned(cells, pools, 1), uncached, cached)
        first = runs(keys // _TIMES)
        middle = keys[reached(first, requests, 0.5)] % _TIMES
        number = np.add.reduceat(requests, first)
        return Cells(
            owner=cells // (_UNCACHED * _CACHED),
            requests=number,
            uncached=uncached / number,
            cached=cached / number,
            ms=middles_of(middle, TIME_BITS),
        )


def _cell(block: Block, group: Integers) -> Integers:
    work = bins_of(block.uncached, _WORK_BITS) - ONE * 2**_WORK_BITS
    # Nothing cached falls below the bin of one token.
    cached = np.maximum(bins_of(block.cached, _CACHED_BITS) - (ONE - 1), 0)
    cell: Integers = (group * _UNCACHED + work) * _CACHED + cached
    return cell


def _owned(keys: Integers, owner: Integers, each: int) -> Integers:
    size = _UNCACHED * _CACHED * each
    owned: Integers = owner[keys // size] * size + keys % size
    return owned


@dataclass(frozen=True)
class Cells:
    """One place for each cell of work: ``requests``, mean tokens, median milliseconds.

    They are sorted by ``owner``, uncached and cached tokens.
    """

    owner: Integers
    requests: Integers
    uncached: Array
    cached: Array
    ms: Array

    def apart(self) -> Iterator[tuple[int, Cells]]:
        """Yield each owner and its cells."""
        for start, end in zip(*spans(self.owner), strict=True):
            yield int(self.owner[start]), self._slice(slice(start, end))

    def _slice(self, part: slice) -> Cells:
        return Cells(
            self.owner[part],
            self.requests[part],
            self.uncached[part],
            self.cached[part],
            self.ms[part],
        )
