"""Whole numbers added up by key: exact, whatever the order in which their parts arrive."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from forensics.timing.bins import Integers

_DENSE = 2**22
"""Up to so many possible keys a table of all of them is faster than sorting."""
_SPARSE = 8
"""Up to so many possible keys for each one that is there, likewise."""
_FAR = 2**62
_PENDING = 2**22
"""Parts are added up when they hold so many keys, and as many as their sum."""


def counted(keys: Integers) -> tuple[Integers, Integers]:
    """Return the distinct keys, sorted, and how often each is there.

    As ``numpy.unique`` does, which at its first call takes longer than all else of a small report.
    """
    low, span = _range(keys)
    if span <= _SPARSE * len(keys):
        number = np.bincount(keys - low)
        there = np.flatnonzero(number)
        return there + low, number[there]
    ordered = np.sort(keys)
    first = runs(ordered)
    return ordered[first], np.diff(first, append=len(keys))


def merged(keys: Integers, *sums: Integers) -> tuple[Integers, ...]:
    """Return the distinct keys, sorted, and the sums of each."""
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    first = runs(keys)
    return keys[first], *(np.add.reduceat(one[order], first) for one in sums)


def runs(keys: npt.NDArray[Any]) -> Integers:
    """Return where each run of equal keys begins."""
    return np.append(np.arange(min(len(keys), 1)), np.flatnonzero(keys[1:] != keys[:-1]) + 1)


def spans(keys: npt.NDArray[Any]) -> tuple[Integers, Integers]:
    """Return where each run of equal keys begins, and where it ends; none of no keys."""
    first = runs(keys)
    return first, np.append(first, len(keys))[1:]


def numbered(keys: Integers) -> tuple[Integers, Integers]:
    """Return the distinct keys, sorted, and the place of each key among them."""
    low, span = _range(keys)
    if span > _DENSE:
        return _sorted(keys)
    place = keys - low
    there = np.zeros(span, dtype=np.bool_)
    there[place] = True
    return np.flatnonzero(there) + low, (np.cumsum(there) - 1)[place]


def _range(keys: Integers) -> tuple[int, int]:
    """Return the lowest key, and how many there are from it to the highest."""
    low = int(keys.min(initial=_FAR))
    return low, int(keys.max(initial=low - 1)) - low + 1


def _sorted(keys: Integers) -> tuple[Integers, Integers]:
    order = np.argsort(keys, kind="stable")
    first = runs(keys[order])
    place = np.empty(len(keys), dtype=np.int64)
    place[order] = np.repeat(np.arange(len(first)), np.diff(first, append=len(keys)))
    return keys[order[first]], place


def reached(first: Integers, requests: Integers, share: float) -> Integers:
    """Return for each run the place where a share of its requests is reached.

    Args:
        first: where each run begins.
        requests: of each place.
        share: above 0, at most 1.
    """
    seen = np.cumsum(requests)
    before = seen[first] - requests[first]
    total = np.append(before[1:], seen[-1:]) - before
    found: Integers = np.searchsorted(seen, before + np.ceil(total * share).astype(np.int64))
    return found


class Tally:
    """Sums by key of parts that arrive one after the other."""

    def __init__(self) -> None:
        self._parts: list[tuple[Integers, ...]] = []
        self._pending = 0

    def add(self, keys: Integers, *sums: Integers) -> None:
        """Add the sums of some keys."""
        self._parts.append((keys, *sums))
        self._pending += len(keys)
        if self._pending > max(_PENDING, 2 * len(self._parts[0][0])):
            self.total()

    def total(self) -> tuple[Integers, ...]:
        """Return the distinct keys of all parts, sorted, and the sums of each."""
        if len(self._parts) > 1:
            columns = zip(*self._parts, strict=True)
            self._parts = [merged(*(np.concatenate(column) for column in columns))]
        self._pending = len(self._parts[0][0])
        return self._parts[0]


class Counter:
    """How often each key is there, of parts that arrive one after the other."""

    def __init__(self) -> None:
        self._tally = Tally()
        self._keys: list[Integers] = []

    def add(self, keys: Integers) -> None:
        """Count some keys."""
        self._keys.append(keys)
        if sum(map(len, self._keys)) > _PENDING:
            self._count()

    def total(self) -> tuple[Integers, ...]:
        """Return the distinct keys of all parts, sorted, and how often each is there."""
        self._count()
        return self._tally.total()

    def _count(self) -> None:
        """Many rows at once have few keys: the same ones are met again and again."""
        if self._keys:
            self._tally.add(*counted(np.concatenate(self._keys)))
            self._keys = []
