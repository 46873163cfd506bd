"""Which records of a file are worth a look: those that differ from the many that were seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np

from forensics.sources.blocks import Block
from forensics.sources.strangers import OWN

_ENOUGH = 200
"""Records that look alike and are the file's own, after which few more are looked at."""
_FEW = 64
_MOST = 10_000
"""Looks that are remembered."""
_FIRST = np.arange(2, 10)
_LAST = np.arange(-17, -1)
_SHAPE = np.arange(256, dtype=np.uint8)
for _one in b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_":
    _SHAPE[_one] = ord("a")
_MIXED = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], np.uint64)


class Looks:
    """Looks at all records until enough of those that look alike were the file's own.

    From then on it looks at some of them by their number, and at all of a block and behind it
    once one was another's. Records look alike that begin with the same letters of a key and
    end in the same shape.
    """

    def __init__(self) -> None:
        self._own: Counter[int] = Counter()
        self._doubted: set[int] = set()

    def told(self, block: Block, places: list[int], tell: Callable[[int], str]) -> dict[int, str]:
        """Return whose the lines at some places are, of those that were looked at."""
        marks = dict(zip(places, _marks(block, places), strict=True))
        many = {mark for mark in set(marks.values()) if self._own[mark] >= _ENOUGH}
        names = {
            at: tell(at)
            for at, mark in marks.items()
            if mark not in many or not block.number(at) % _FEW
        }
        self._doubted |= (theirs := {marks[at] for at, name in names.items() if name != OWN})
        if theirs & many:
            rest = (at for at, mark in marks.items() if mark in theirs and at not in names)
            names |= {at: tell(at) for at in rest}
        if len(self._own) > _MOST:
            self._own.clear()
        self._own.update(marks[at] for at, name in names.items() if name == OWN)
        for mark in self._doubted:
            self._own.pop(mark, None)
        return names


def _marks(block: Block, places: list[int]) -> list[int]:
    """Return numbers that are the same for records that look alike."""
    data = np.frombuffer(block.data, np.uint8)
    starts = block.starts[places]
    ends = np.append(block.starts[1:], len(data))[places]
    last = len(data) - 1
    first = data[np.minimum(starts[:, None] + _FIRST, last)]
    shape = _SHAPE[data[np.maximum(ends[:, None] + _LAST, 0)]]
    words = np.ascontiguousarray(np.hstack([first, shape])).view(np.uint64)
    marks: list[int] = (words * _MIXED).sum(axis=1).tolist()
    return marks
