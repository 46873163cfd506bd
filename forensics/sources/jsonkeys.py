"""Where the keys of a block's lines of JSON end, found for all lines at once.

A key ends in a quote, and a colon follows it, with or without white space between. What stands
like that within a text is no key: where that matters, it is left out by the backslash before
the quote.
"""

from __future__ import annotations

import string
from collections.abc import Collection
from functools import cached_property

import msgspec
import numpy as np

from forensics.sources.blocks import Block

WORD = 8
"""Bytes that are compared at once: the last ones of a key, and its quote."""
_QUOTE, _COLON, _SPACE, _TAB, _RETURN, _BACKSLASH, _FEED = b'": \t\r\\\n'
_HASH, _TABLE_BITS = np.uint64(0x9E3779B97F4A7C15), 14
_FEW_BLANKS = 4

Keys = tuple[bytes, ...]


class BlockKeys:
    """Where the keys of a block's lines end.

    Args:
        block: lines of JSON.
    """

    def __init__(self, block: Block) -> None:
        self.data = data = block.data
        self.octets = np.frombuffer(data, np.uint8)
        marks, self._kinds = block.marks
        self._colons = np.flatnonzero(self._kinds == _COLON)
        at = marks.take(self._colons) - 1
        before = self.octets.take(at, mode="clip")
        # No control character but white space stands in JSON outside of texts.
        if (blank := np.flatnonzero(before <= _SPACE)).size:
            at[blank] = self._over_blanks(at[blank])
            before[blank] = self.octets.take(at[blank], mode="clip")
        quoted = before == _QUOTE
        self._at = at[quoted]
        self._found = self._colons[quoted]

    def _over_blanks(self, places: np.ndarray) -> np.ndarray:
        """Return where the white space begins that ends at some places: the bytes before it."""
        at = places - 1
        more = np.flatnonzero(_blank(self.octets.take(at, mode="clip")))
        at[more] = [self._before_blanks(place) for place in at[more].tolist()]
        return at

    def _before_blanks(self, place: int) -> int:
        data, begin = self.data, max(place - _FEW_BLANKS, 0)
        while not (left := data[begin : place + 1].rstrip(b" \t\r")) and begin:
            begin = max(begin - 2 * (place - begin), 0)
        return begin + len(left) - 1

    @cached_property
    def words(self) -> np.ndarray:
        """The bytes of the block as numbers of :data:`WORD` bytes, one from each byte on."""
        data = self.data
        padded = data if len(data) >= WORD else data + bytes(WORD)
        return np.ndarray((len(padded) - WORD + 1,), "<u8", padded, 0, (1,))

    def count(self, names: Names) -> int:
        """Return how many keys may be one of some; a few of other keys may be among them."""
        at = self._at
        first = np.searchsorted(at, WORD - 1)  # before these there are fewer bytes than a word
        early = sum(names.may_be(self.data[:end]) for end in at[:first].tolist())
        return early + names.count(self.words.take(at[first:] - (WORD - 1)))

    @cached_property
    def ends(self) -> np.ndarray:
        """Where the quotes of the keys are, line after line."""
        return self._true[0]

    @cached_property
    def cuts(self) -> np.ndarray:
        """How many keys there are before each line, and in all."""
        cuts = np.searchsorted(self._true[1], np.flatnonzero(self._kinds == _FEED))
        if not self.data.endswith(b"\n"):
            cuts = np.append(cuts, len(self.ends))
        return np.append(0, cuts)

    @cached_property
    def _true(self) -> tuple[np.ndarray, np.ndarray]:
        """The quotes of keys alone, and which of the marks their colons are."""
        escaped = self.octets.take(self._at - 1, mode="clip") == _BACKSLASH
        if not escaped.any():
            return self._at, self._found
        return self._at[~escaped], self._found[~escaped]

    def of(self, line: int) -> Keys:
        """Return the keys of a line, as they are written."""
        data = self.data
        ends = self.ends[self.cuts[line] : self.cuts[line + 1]].tolist()
        return tuple([data[data.rfind(b'"', 0, end) + 1 : end] for end in ends])


class Names:
    """Some keys, by the bytes that they end in.

    Args:
        names: the keys.
    """

    def __init__(self, names: Collection[str]) -> None:
        encoded = sorted({msgspec.json.encode(name)[1:] for name in names})
        self._long = tuple(end[-WORD:] for end in encoded if len(end) >= WORD - 1)
        self._long = tuple(end if len(end) == WORD else b'"' + end for end in self._long)
        self._short = tuple(b'"' + end for end in encoded if len(end) < WORD - 1)
        self._table = _table([_number(end) for end in self._long])
        self._tails = _table([_number(end[-_TAIL:]) for end in self._short])
        self._letters = frozenset("".join(names))
        self._plain = self._letters <= _PLAIN and all(names)

    def may_be(self, data: bytes) -> bool:
        """Say whether what ends before a quote is one of the keys; the quote comes after it."""
        return (data + b'"').endswith((*self._long, *self._short))

    def count(self, words: np.ndarray) -> int:
        """Return how many words are ends of the keys."""
        found = int(np.count_nonzero(_looked_up(self._table, words)))
        if not self._short:
            return found
        some = words[_looked_up(self._tails, words >> np.uint64(8 * (WORD - _TAIL)))]
        for end in self._short:
            skipped = np.uint64(8 * (WORD - len(end)))
            found += int(np.count_nonzero((some >> skipped) == np.uint64(_number(end))))
        return found

    def may_be_escaped(self, keys: BlockKeys) -> bool:
        """Say whether some letter of the keys is written as an escape, in whatever text."""
        if not self._plain:
            return True
        if b"\\" not in keys.data:
            return False
        octets = keys.octets
        starts = (octets[:-1] == _BACKSLASH) & (octets[1:] == _UNICODE)
        if not starts.any():
            return False
        at = np.flatnonzero(starts)
        codes = keys.words.take(at[at <= len(octets) - WORD]) >> np.uint64(16)
        ascii_ones = codes[(codes & np.uint64(0xFFFF)) == _ZEROS] >> np.uint64(16)
        found = np.unique(ascii_ones & np.uint64(0xFFFF)).tolist()
        return any(_letter(code.to_bytes(2, "little")) in self._letters for code in found)


_TAIL = 3
"""Bytes by which short keys are told at first: two letters, or a quote and one, and a quote."""
_UNICODE = ord("u")
_ZEROS = np.uint64(int.from_bytes(b"00", "little"))
_PLAIN = frozenset(string.ascii_letters + string.digits + "_-. :@$#")
"""What is written as it is, or as an escape of two zeros and two digits."""


def _blank(octets: np.ndarray) -> np.ndarray:
    blank: np.ndarray = (octets == _SPACE) | (octets == _TAB) | (octets == _RETURN)
    return blank


def _number(data: bytes) -> int:
    return int.from_bytes(data, "little")


def _table(numbers: Collection[int]) -> np.ndarray:
    table = np.zeros(1 << _TABLE_BITS, bool)
    table[_places(np.array(list(numbers), np.uint64))] = True
    return table


def _places(words: np.ndarray) -> np.ndarray:
    places: np.ndarray = (words * _HASH) >> np.uint64(64 - _TABLE_BITS)
    return places.view(np.int64)


def _looked_up(table: np.ndarray, words: np.ndarray) -> np.ndarray:
    return table.take(_places(words))


def _letter(code: bytes) -> str | None:
    try:
        return chr(int(code, 16))
    except ValueError:
        return None
