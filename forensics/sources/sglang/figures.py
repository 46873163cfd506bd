"""Figures at their places in lines of one form, read from the bytes of many lines at once.

A pattern makes a text of each figure first. Lines that are not just in the form are left to
the patterns.
"""

from __future__ import annotations

import re

import numpy as np

from forensics.sources.bytewords import SIZE, ByteLines, same, whole, word_at

_FIELD = re.compile(r"\{(\w*):([ds])\}")
_ZEROS = np.uint64(0x3030303030303030)
_TO_SIXTEEN = np.uint64(0x0606060606060606)
_NO_DIGIT = np.uint64(0xF0F0F0F0F0F0F0F0)
_PAIRS = np.uint64(0x000000FF000000FF)
_UPPER, _LOWER = np.uint64(100 + (1_000_000 << 32)), np.uint64(1 + (10_000 << 32))
_MOST_DIGITS = SIZE - 1
"""More of them are left to the patterns."""


class Template:
    """A form of line.

    Args:
        text: the line up to the last figure, with ``{name:d}`` for a count, ``{name:s}`` for a
            share with one to three digits before its point and one to four behind it, and
            without a name where a figure is not taken.
    """

    def __init__(self, text: str) -> None:
        *parts, _ = _FIELD.split(text)
        self._fields = [
            (before.encode(), name, kind)
            for before, name, kind in zip(parts[::3], parts[1::3], parts[2::3], strict=True)
        ]
        dtypes: dict[str, type] = {"d": np.int64, "s": np.float64}
        self.dtypes = {name: dtypes[kind] for _, name, kind in self._fields if name}
        """The figures that are taken, and their types."""

    def read(self, data: ByteLines, begins: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Say which lines are in the form, and return the figures; of others they mean nothing.

        Args:
            data: the lines.
            begins: where the messages begin.
        """
        place = _Place(data, begins)
        figures: dict[str, np.ndarray] = {}
        for before, name, kind in self._fields:
            figure = place.count(before) if kind == "d" else place.share(before)
            if name:
                figures[name] = figure
        return place.fits, figures


class _Place:
    """A place in each line; ``fits`` are the lines that had all that was expected so far."""

    def __init__(self, data: ByteLines, begins: np.ndarray) -> None:
        self._data = data
        self._at = begins
        self.fits = np.ones(len(begins), np.bool_)

    def count(self, before: bytes) -> np.ndarray:
        """Pass a text and a whole number."""
        return self._number(before, _MOST_DIGITS)[0]

    def share(self, before: bytes) -> np.ndarray:
        """Pass a text and a number with a point."""
        units, _ = self._number(before, 3)
        part, size = self._number(b".", 4)
        scale = 10**size
        return np.asarray((units * scale + part) / scale)

    def _number(self, before: bytes, most: int) -> tuple[np.ndarray, np.ndarray]:
        """Pass both; they hold no line feed, so a line in which they stand does not end there."""
        windows = self._data.windows(self._at, whole(len(before) + SIZE))
        number, size = _digits(word_at(windows, len(before)))
        self.fits &= same(windows, before) & (size > 0) & (size <= most)
        self._at = self._at + (size + len(before))
        return number, size


def _digits(word: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the number that each word begins with, and how many digits it has."""
    word = word ^ _ZEROS
    other = ((word + _TO_SIXTEEN) | word) & _NO_DIGIT
    # The lowest of these bits is in the first byte that is no digit.
    below = (other & (~other + np.uint64(1))) - np.uint64(1)
    size = np.bitwise_count(below).astype(np.int64) // SIZE
    # As eight digits, zeros first; then pairs of them, fours and all.
    word = word << ((SIZE - size) * 8).astype(np.uint64)
    word = word * np.uint64(10) + (word >> np.uint64(8))
    upper, lower = word & _PAIRS, (word >> np.uint64(16)) & _PAIRS
    number = (upper * _UPPER + lower * _LOWER) >> np.uint64(32)
    return number.astype(np.int64), size
