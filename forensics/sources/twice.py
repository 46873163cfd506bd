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

from forensics.sources.blocks import Block

_WORD = 8
"""Bytes that are compared at once: the last ones of a key, its quote and its colon."""
_QUOTE, _COLON, _SPACE, _BACKSLASH, _FEED = b'": \\\n'
_MOST_ORDERS = 32
"""Orders of keys for which all lines of a block are compared; further lines are looked at each."""
_REMEMBERED = 1_000

Keys = tuple[bytes, ...]


@dataclass(frozen=True)
class _Order:
    """Which bytes tell that a line has the same keys in the same order.

    Args:
        twice: one of the keys that are read comes twice.
        words: masks of the last word of each key.
        deeper: how far before the last word, of which keys, and the masks of their words there.
    """

    twice: bool
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

    def lines(self, block: Block) -> list[int]:
        """Return their places in the block."""
        keys = _Keys(block)
        found: list[int] = []
        left = np.arange(keys.lines)
        for _ in range(_MOST_ORDERS):
            if not len(left):
                break
            # The last: before the first keys of a block there may be too few bytes to compare.
            order = self._order(keys.of(int(left[-1])))
            alike = keys.alike(int(left[-1]), left, order)
            if order.twice:
                found += left[alike].tolist()
            left = left[~alike]
        found += [line for line in left.tolist() if self._order(keys.of(line)).twice]
        return sorted(found)

    def _order(self, keys: Keys) -> _Order:
        if keys not in self._known:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[keys] = self._told(keys)
        return self._known[keys]

    def _told(self, keys: Keys) -> _Order:
        names = [_plain(key) for key in keys]
        read = Counter(name for name in names if name in self._names)
        # A key whose end no other key has can be no other one: its beginning tells nothing.
        ends = Counter(map(_last, keys))
        alike = [at for at, key in enumerate(keys) if ends[_last(key)] > 1 and self._may_be(key)]
        words = np.array([_mask(key, 0) for key in keys], np.uint64)
        deeper = []
        for depth in range(_WORD, max((_length(keys[at]) for at in alike), default=0), _WORD):
            some = [at for at in alike if _length(keys[at]) > depth]
            masks = np.array([_mask(keys[at], depth) for at in some], np.uint64)
            deeper.append((depth, np.array(some, np.intp), masks))
        return _Order(max(read.values(), default=0) > 1, words, tuple(deeper))

    def _may_be(self, key: bytes) -> bool:
        return b"\\" in key or _last(key) in self._ends


class _Keys:
    """Where the keys of a block's lines end."""

    def __init__(self, block: Block) -> None:
        self._data = data = block.data
        octets = np.frombuffer(data, np.uint8)
        marks, kinds = block.marks
        before, colons = octets[marks - 1], kinds == _COLON
        spaced = colons & (before == _SPACE)
        if spaced.any():
            spaced &= octets[marks - 2] == _QUOTE
        marks = marks - spaced  # a space may stand between a key and its colon
        found = np.flatnonzero((colons & (before == _QUOTE)) | spaced)
        at = marks.take(found)
        escaped = octets[at - 2] == _BACKSLASH  # a quote within a text
        if escaped.any():
            at, found = at[~escaped], found[~escaped]
        self._at = at
        padded = data if len(data) >= _WORD else data + bytes(_WORD)
        self._words = np.ndarray((len(padded) - _WORD + 1,), "<u8", padded, 0, (1,))
        cuts = np.searchsorted(found, np.flatnonzero(kinds == _FEED))
        if not data.endswith(b"\n"):
            cuts = np.append(cuts, len(found))
        self._cuts = np.append(0, cuts)
        self._counts = np.diff(self._cuts)
        self.lines = len(cuts)

    def of(self, line: int) -> Keys:
        """Return the keys of a line, as they are written."""
        data = self._data
        ends = (self._at[self._cuts[line] : self._cuts[line + 1]] - 1).tolist()
        return tuple([data[data.rfind(b'"', 0, end) + 1 : end] for end in ends])

    def alike(self, line: int, lines: np.ndarray, order: _Order) -> np.ndarray:
        """Say which of some lines have the same keys in the same order as one."""
        number = len(order.words)
        same: np.ndarray = self._counts[lines] == number
        if not number:
            return same
        some = lines[same]
        if len(some) == self.lines:
            at = self._at.reshape(-1, number)
        else:
            at = self._at[self._cuts[some][:, None] + np.arange(number)]
        own = at[np.searchsorted(some, line)]
        equal = self._equal(at, own, 0, order.words)
        for depth, keys, masks in order.deeper:
            equal &= self._equal(at[:, keys], own[keys], depth, masks)
        same[same] = equal
        return same

    def _equal(self, at: np.ndarray, own: np.ndarray, depth: int, masks: np.ndarray) -> np.ndarray:
        """Say in which rows all words are those of one row."""
        begins = at - (depth + _WORD - 1)
        begins[0] = np.maximum(begins[0], 0)
        words = self._words[begins]
        words ^= self._words[np.maximum(own - (depth + _WORD - 1), 0)]
        words &= masks
        if not words.any():
            return np.ones(len(at), bool)
        found: np.ndarray = (words == 0).all(axis=1)
        return found


def _last(key: bytes) -> bytes:
    return (b'"' + key)[-_WORD + 2 :]


def _length(key: bytes) -> int:
    return len(key) + 3


def _mask(key: bytes, depth: int) -> int:
    """Return which bytes of a word are the key's own; those before its quote may be any."""
    width = min(_WORD, _length(key) - depth)
    return ((1 << 8 * width) - 1) << 8 * (_WORD - width)


def _plain(key: bytes) -> bytes:
    """Return a key without the escapes that it need not have."""
    if b"\\" not in key:
        return key
    try:
        return msgspec.json.encode(msgspec.json.decode(b'"%s"' % key, type=str))[1:-1]
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return key
