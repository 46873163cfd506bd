"""Values of a block of lines, cut out where they lie, column by column.

What is cut out is held to what its column takes; where a value may be another than what stands
there, as a text with an escape or a number that is none of the usual ones, nothing is cut out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from forensics.sources.jsonkeys import WORD
from forensics.sources.jsonlayout import Layout
from forensics.sources.jsonpaths import Leaf

_DIGITS = 18
"""Of a count: more may be too large for a column."""
_LONGEST = 256
"""Bytes of a value: a longer one is no usual one."""
_QUOTE, _BACKSLASH, _SPACE, _DELETE = b'"\\ \x7f'
_ZERO, _NINE, _NULL, _TRUE, _FALSE = b"09ntf"


@dataclass(frozen=True)
class Cut:
    """Values of a column: texts of Arrow, not yet of the column's type; or an array of them."""

    values: Any


@dataclass(frozen=True)
class Cutter:
    """Cuts values out of a block of so many lines."""

    data: bytes
    octets: np.ndarray
    words: np.ndarray
    lines: int

    def all(self, like: Layout, begins: np.ndarray, ends: np.ndarray) -> dict[str, Cut] | None:
        """Return all columns that have a value; None where one may be cut out wrong."""
        lengths = ends - begins
        if (lengths > _LONGEST).any() or (lengths <= 0).any():
            return None
        heads = self.octets[begins]
        short = self._counts(like, ends, lengths)
        found: dict[str, Cut] = {}
        for at, leaf in enumerate(like.leaves):
            cut = short.get(at)
            if cut is None:
                cut = self._column(leaf, heads[:, at], begins[:, at], ends[:, at])
            if cut is None:
                return None
            if leaf is not None and cut is not _NOTHING:
                found[leaf.column] = cut
        return found

    def _counts(self, like: Layout, ends: np.ndarray, lengths: np.ndarray) -> dict[int, Cut]:
        """Return the columns of counts that have few digits each, by their place.

        As many digits as a word has bytes are added up at once, two, then four, then eight.
        """
        some = like.counts[(lengths[:, like.counts] <= WORD).all(axis=0)]
        if not len(some) or ends.min() < WORD:
            return {}
        empty = (WORD - lengths[:, some]).astype(np.uint64) * _EIGHT
        words = (self.words[ends[:, some] - WORD] >> empty) - (_ZEROS >> empty) << empty
        right = (((words + _SIXES) | words) & _HIGHS == 0).all(axis=0)
        words = words * _TEN + (words >> _EIGHT)
        low, high = words & _PAIRS, (words >> _SIXTEEN) & _PAIRS
        found = ((low * _LOW + high * _HIGH) >> _HALF).astype(np.int64)
        return {int(at): Cut(found[:, n]) for n, at in enumerate(some) if right[n]}

    def _column(
        self, leaf: Leaf | None, heads: np.ndarray, begins: np.ndarray, ends: np.ndarray
    ) -> Cut | None:
        """Return one column; of one that nobody reads, whether it is cut out right."""
        lengths = ends - begins
        null = heads == _NULL
        if null.any() and (lengths[null] != len("null")).any():
            return None
        if null.all():
            return _NOTHING
        some = ~null
        quoted = heads[some] == _QUOTE
        if quoted.all():
            right = (self.octets[ends[some] - 1] == _QUOTE).all() and lengths.min() > 1
            texts = self._cut(begins + 1, ends - 1, null) if right and _may(leaf, "text") else None
            return Cut(texts) if texts is not None and _is_text(texts) else None
        if not quoted.any() and (((heads[some] - _ZERO) & 0xFF) <= _NINE - _ZERO).all():
            texts = self._cut(begins, ends, null) if _may(leaf, "number") else None
            return Cut(texts) if texts is not None and _is_number(texts, leaf, lengths) else None
        flags: np.ndarray = heads == _TRUE
        known = (flags & (lengths == len("true"))) | ((heads == _FALSE) & (lengths == len("false")))
        return Cut(flags) if known.all() and _may(leaf, "flag") else None

    def _cut(self, begins: np.ndarray, ends: np.ndarray, null: np.ndarray) -> pa.Array:
        """Return the bytes between some places, in memory that holds nothing else."""
        offsets = np.empty(2 * self.lines, np.int32)
        offsets[0::2], offsets[1::2] = begins, ends
        pieces = pa.StringArray.from_buffers(
            2 * self.lines - 1, pa.py_buffer(offsets), pa.py_buffer(self.data)
        )
        wanted = np.arange(0, 2 * self.lines, 2, dtype=np.int32)
        return pieces.take(pa.array(wanted, mask=null if null.any() else None))


_NOTHING = Cut(None)
_ZEROS, _SIXES, _HIGHS, _PAIRS = (
    np.array(int(octets, 16), np.uint64)
    for octets in ("30" * 8, "76" * 8, "80" * 8, "000000ff" * 2)
)
_TEN, _EIGHT, _SIXTEEN, _HALF = (np.array(number, np.uint64) for number in (10, 8, 16, 32))
_LOW, _HIGH = (
    np.array(value, np.uint64) for value in (100 + (1_000_000 << 32), 1 + (10_000 << 32))
)
_TAKEN = {
    "id": {"text", "number"},
    "name": {"text", "number"},
    "time": {"text", "number"},
    "code": {"text"},
    "count": {"number"},
    "measure": {"number"},
    "flag": {"flag"},
}


def _may(leaf: Leaf | None, what: str) -> bool:
    """Say whether values like that are expected; of a key that nobody reads, any are."""
    return leaf is None or what in _TAKEN.get(leaf.kind, ())


def _bytes(texts: pa.Array) -> np.ndarray:
    _, offsets, data = texts.buffers()
    last = int(np.frombuffer(offsets, np.int32)[len(texts)])
    return np.frombuffer(data, np.uint8, last) if last else np.zeros(0, np.uint8)


def _is_text(texts: pa.Array) -> bool:
    """Say whether texts are as they stand there: printed ASCII without an escape."""
    octets = _bytes(texts)
    odd = ((octets - _SPACE) & 0xFF) >= _DELETE - _SPACE
    return not (odd | (octets == _QUOTE) | (octets == _BACKSLASH)).any()


def _is_number(texts: pa.Array, leaf: Leaf | None, lengths: np.ndarray) -> bool:
    """Say whether texts are numbers as their column takes them."""
    octets = _bytes(texts)
    digits = ((octets - _ZERO) & 0xFF) <= _NINE - _ZERO
    if leaf is None:
        return bool((digits | np.isin(octets, _IN_NUMBERS)).all())
    if leaf.kind == "measure":  # one with an exponent may be too large for a column
        return bool((digits | (octets == _POINT)).all())
    return bool(digits.all() and lengths.max() <= _DIGITS)


_IN_NUMBERS = np.frombuffer(b".eE+-", np.uint8)
_POINT = ord(".")


def joined(column: str, dtype: type[pl.DataType], cuts: Sequence[Cut]) -> pl.Series:
    """Return what was cut out of some blocks as a column of its type."""
    found: list[pl.Series] = []
    for arrays, group in groupby(cuts, lambda cut: isinstance(cut.values, np.ndarray)):
        values = [cut.values for cut in group]
        if arrays:
            found.append(pl.Series(column, np.concatenate(values), dtype=dtype))
        else:
            texts = pl.Series(column, pl.from_arrow(pa.concat_arrays(values)), dtype=pl.String)
            found.append(texts if dtype == pl.String else texts.cast(dtype))
    return pl.concat(found) if len(found) > 1 else found[0]
