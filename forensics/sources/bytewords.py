"""Lines as numbers, eight bytes of each at a time: many of them are compared in one go.

What stands at a known place of a line costs a hundredth of what it costs as a text.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

SIZE = 8
"""Bytes of a word; the first one is the lowest."""
MASKS = [np.uint64((1 << (8 * size)) - 1) for size in range(SIZE + 1)]
"""What leaves the first bytes of a word, so many of them."""
_EACH = np.uint64(0x0101010101010101)
_HIGH = np.uint64(0x8080808080808080)
_MIX = np.uint64(0x9E3779B97F4A7C15)


class ByteLines:
    """The lines of some bytes, in which words can be looked up.

    Args:
        data: the bytes.
        starts: where each line begins.
    """

    def __init__(self, data: bytes, starts: np.ndarray) -> None:
        self.starts = starts
        self.data = data

    def words(self, at: np.ndarray) -> np.ndarray:
        """Return the eight bytes from each place on; zeros where there are no bytes left."""
        return word_at(self.windows(at, SIZE), 0)

    def windows(self, at: np.ndarray, size: int) -> np.ndarray:
        """Return so many bytes from each place on; to get many costs as much as to get few."""
        if at.max(initial=0) <= len(self.data) - size:
            all_found: np.ndarray = _every(self.data, size)[at]
            return all_found
        # Few places, if any, are as near to the end.
        near = max(len(self.data) - size, 0)
        over = at > near
        end = _every(self.data[near:] + bytes(size), size)
        found: np.ndarray = end[np.clip(at - near, 0, len(end) - 1)]
        found[~over] = self.windows(at[~over], size) if near else end[0]
        return found

    def begins_with(self, at: np.ndarray, text: bytes) -> np.ndarray:
        """Say at which places a text stands that holds no line feed."""
        return same(self.windows(at, whole(len(text))), text)

    def texts(self, begins: np.ndarray, ends: np.ndarray) -> pl.Series:
        """Return what stands between some places; what is no UTF-8 is replaced."""
        places = zip(begins.tolist(), ends.tolist(), strict=True)
        texts = [self.data[begin:end].decode("utf-8", "replace") for begin, end in places]
        return pl.Series(texts, dtype=pl.String)


def _every(data: bytes, size: int) -> np.ndarray:
    """Return the bytes from every place on, so many of them; nothing is copied."""
    return np.ndarray((len(data) - size + 1,), f"V{size}", data, 0, (1,))


def word_at(windows: np.ndarray, offset: int) -> np.ndarray:
    """Return the eight bytes at one offset of each window."""
    size = windows.dtype.itemsize
    return np.ndarray((len(windows),), "<u8", windows, offset, (size,))


def word_of(text: bytes) -> int:
    """Return the first word of a text."""
    return int.from_bytes(text[:SIZE], "little")


def whole(size: int) -> int:
    """Return the bytes of as many words as hold so many bytes."""
    return -(-size // SIZE) * SIZE


def same(windows: np.ndarray, text: bytes) -> np.ndarray:
    """Say which windows begin with a text."""
    found = np.ones(len(windows), np.bool_)
    for offset in range(0, len(text), SIZE):
        part = text[offset : offset + SIZE]
        found &= (word_at(windows, offset) & MASKS[len(part)]) == word_of(part)
    return found


def before(words: np.ndarray, mark: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Return the words up to a byte, zeros from there on, and how many bytes that leaves."""
    other = words ^ (np.uint64(mark[0]) * _EACH)
    marked = (other - _EACH) & ~other & _HIGH
    # The lowest of these bits is that of the first such byte; where there is none, all ones.
    kept = ((marked & (~marked + np.uint64(1))) >> np.uint64(SIZE - 1)) - np.uint64(1)
    return words & kept, np.bitwise_count(kept).astype(np.int64) // SIZE


def kinds(words: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Tell lines apart by some of their words.

    Returns:
        one line of each kind, and the kind of each line.
    """
    first = np.ones(len(words[0]), np.bool_)
    first[1:] = np.any([word[1:] != word[:-1] for word in words], axis=0)
    one, kind = _distinct([word[first] for word in words])
    return np.flatnonzero(first)[one], kind[np.cumsum(first) - 1]


def _distinct(words: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    key = words[0]
    for word in words[1:]:
        key = key * _MIX ^ word
    found = pl.Series(key).unique().sort().to_numpy()
    kind = np.searchsorted(found, key)
    one = np.empty(len(found), np.int64)
    one[kind] = np.arange(len(key))
    if all((word[one][kind] == word).all() for word in words):
        return one, kind
    # Words that are not the same may mix to the same key.
    _, one, kind = np.unique(np.stack(words, 1), axis=0, return_index=True, return_inverse=True)
    return one, kind.reshape(-1)
