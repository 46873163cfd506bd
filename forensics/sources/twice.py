"""Lines of JSON in which a key that is read comes twice: a decoder takes the last value in silence.

To look for each key in each line costs more than to read it. But a file's lines have the same
keys in the same order: where those of two lines are the same bytes, what is known of one holds
for the other. So of each order of keys one line is looked at, and all lines are compared with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

import msgspec
import numpy as np

from forensics.sources.jsonkeys import WORD, BlockKeys, Keys

_MOST_ORDERS = 32
"""Orders of keys for which all lines of a block are compared; further lines are looked at each."""
_REMEMBERED = 1_000

Spellings = dict[bytes, list[bytes]]
"""Keys that come twice or more, each with the ways in which it is written."""


@dataclass(frozen=True)
class _Order:
    """Which bytes tell that a line has the same keys in the same order.

    Args:
        twice: which of the keys that are read come twice.
        words: masks of the last word of each key.
        deeper: how far before the last word, of which keys, and the masks of their words there.
    """

    twice: Spellings
    words: np.ndarray
    deeper: tuple[tuple[int, np.ndarray, np.ndarray], ...]


class Twice:
    """Finds lines in which one of some keys comes twice, at whatever depth.

    Args:
        names: the keys.
    """

    def __init__(self, names: Collection[str]) -> None:
        self._names = {msgspec.json.encode(name)[1:-1] for name in names}
        self._ends = {_last(name) for name in self._names}
        self._known: dict[Keys, _Order] = {}

    def lines(self, keys: BlockKeys) -> dict[int, Spellings]:
        """Return their places in the block, each with the keys that come twice."""
        found: dict[int, Spellings] = {}
        left = np.arange(len(keys.cuts) - 1)
        for _ in range(_MOST_ORDERS):
            if not len(left):
                break
            # The last: before the first keys of a block there may be too few bytes to compare.
            order = self._order(keys.of(int(left[-1])))
            alike = _alike(keys, int(left[-1]), left, order)
            if order.twice:
                found |= dict.fromkeys(left[alike].tolist(), order.twice)
            left = left[~alike]
        for line in left.tolist():
            if twice := self._order(keys.of(line)).twice:
                found[line] = twice
        return found

    def _order(self, keys: Keys) -> _Order:
        if keys not in self._known:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[keys] = self._told(keys)
        return self._known[keys]

    def _told(self, keys: Keys) -> _Order:
        names = [_plain(key) for key in keys]
        written: Spellings = {}
        for name, key in zip(names, keys, strict=True):
            if name in self._names:
                written.setdefault(name, []).append(key)
        # A key whose end no other key has can be no other one: its beginning tells nothing.
        ends = Counter(map(_last, names))
        alike = [
            at for at, key in enumerate(keys) if ends[_last(names[at])] > 1 and self._may_be(key)
        ]
        words = np.array([_mask(key, 0) for key in keys], np.uint64)
        deeper = []
        for depth in range(WORD, max((_length(keys[at]) for at in alike), default=0), WORD):
            some = [at for at in alike if _length(keys[at]) > depth]
            masks = np.array([_mask(keys[at], depth) for at in some], np.uint64)
            deeper.append((depth, np.array(some, np.intp), masks))
        twice = {name: sorted(set(of)) for name, of in written.items() if len(of) > 1}
        return _Order(twice, words, tuple(deeper))

    def _may_be(self, key: bytes) -> bool:
        return b"\\" in key or _last(key) in self._ends


def _alike(keys: BlockKeys, line: int, lines: np.ndarray, order: _Order) -> np.ndarray:
    """Say which of some lines have the same keys in the same order as one."""
    number = len(order.words)
    same: np.ndarray = np.diff(keys.cuts)[lines] == number
    if not number:
        return same
    some = lines[same]
    if len(some) == len(keys.cuts) - 1:
        at = keys.ends.reshape(-1, number)
    else:
        at = keys.ends[keys.cuts[some][:, None] + np.arange(number)]
    own = at[np.searchsorted(some, line)]
    equal = _equal(keys.words, at, own, 0, order.words)
    for depth, those, masks in order.deeper:
        equal &= _equal(keys.words, at[:, those], own[those], depth, masks)
    same[same] = equal
    return same


def _equal(
    words: np.ndarray, at: np.ndarray, own: np.ndarray, depth: int, masks: np.ndarray
) -> np.ndarray:
    """Say in which rows all words are those of one row."""
    begins = at - (depth + WORD - 1)
    begins[0] = np.maximum(begins[0], 0)
    found = words[begins]
    found ^= words[np.maximum(own - (depth + WORD - 1), 0)]
    found &= masks
    if not found.any():
        return np.ones(len(at), bool)
    equal: np.ndarray = (found == 0).all(axis=1)
    return equal


def _last(key: bytes) -> bytes:
    return (b'"' + key)[-WORD + 1 :]


def _length(key: bytes) -> int:
    return len(key) + 2


def _mask(key: bytes, depth: int) -> int:
    """Return which bytes of a word are the key's own; those before its quote may be any."""
    width = min(WORD, _length(key) - depth)
    return ((1 << 8 * width) - 1) << 8 * (WORD - width)


def _plain(key: bytes) -> bytes:
    """Return a key without the escapes that it need not have."""
    if b"\\" not in key:
        return key
    try:
        return msgspec.json.encode(msgspec.json.decode(b'"%s"' % key, type=str))[1:-1]
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return key
