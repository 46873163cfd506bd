"""Which identifiers occur more than once in all of a set, without holding them all.

Each is a 64-bit hash, in sorted files. Two different ones of the same hash are called repeated
as well: their rows are kept, which costs a little and is never wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from forensics.sources.reading import Progress

Hashes: TypeAlias = npt.NDArray[np.uint64]
_AT_ONCE = 2**23
"""Hashes that are sorted together."""
_DASHED = 36
_BYTES = 8
_END = 2**64


@dataclass(frozen=True)
class Stored:
    """Sorted hashes that stand in a file from some byte on."""

    path: Path
    offset: int
    number: int

    @classmethod
    def write(cls, path: Path, values: Hashes) -> Stored:
        """Write sorted hashes to a file of their own."""
        values.tofile(path)
        return cls(path, 0, len(values))

    def values(self) -> Hashes:
        """Return them, without reading all of them at once."""
        if not self.number:
            return np.zeros(0, dtype=np.uint64)
        return np.memmap(self.path, np.uint64, "r", self.offset, self.number)


def hashes(ids: pl.Series) -> Hashes:
    """Return the hashes of some identifiers, sorted; null ones have none."""
    found = hashed(ids).to_numpy(writable=True)
    found.sort()
    return found


def hashed(ids: pl.Series) -> pl.Series:
    """Return the hash of each identifier that there is: of a UUID without its dashes."""
    known = ids.drop_nulls()
    place = (known.str.len_bytes() == _DASHED).arg_true()
    if not len(place) or not (some := known.gather(place)).str.contains("-", literal=True).any():
        return known.hash(seed=0)
    bare = some.str.replace_all("-", "", literal=True)
    return known.scatter(place, bare).hash(seed=0)


def among(ids: pl.Series, wanted: Hashes) -> pl.Series:
    """Say which identifiers have one of some hashes."""
    known = ids.is_not_null()
    place = np.flatnonzero(known.to_numpy())
    mask = np.zeros(len(ids), dtype=np.bool_)
    mask[place] = contained(hashed(ids).to_numpy(), wanted)
    return pl.Series(mask)


def contained(found: Hashes, wanted: Hashes) -> npt.NDArray[np.bool_]:
    """Say which hashes are among sorted ones."""
    if not len(wanted):
        return np.zeros(len(found), dtype=np.bool_)
    at = np.searchsorted(wanted, found).clip(max=len(wanted) - 1)
    same: npt.NDArray[np.bool_] = wanted[at] == found
    return same


@dataclass(frozen=True)
class Range:
    """Some sorted hashes, of which those from ``low`` on and below ``high`` are compared."""

    stored: tuple[Stored, ...]
    low: int
    high: int

    @property
    def name(self) -> str:
        """What an error calls it."""
        return "identifiers of an evidence set"

    @property
    def size(self) -> int:
        """Bytes, about: hashes are spread evenly."""
        total = sum(own.number for own in self.stored)
        return _BYTES * total * (self.high - self.low) // _END


def ranges(stored: Sequence[Stored]) -> list[Range]:
    """Return all hashes in ranges that are small enough to be sorted at a time."""
    parts = sum(own.number for own in stored) // _AT_ONCE + 1
    edges = [at * _END // parts for at in range(parts + 1)]
    return [Range(tuple(stored), low, high) for low, high in pairwise(edges)]


def repeated(
    asked: Range,
    progress: Progress = lambda _bytes, _records: None,  # noqa: ARG001 -- a stage takes one
) -> Hashes:
    """Return the hashes that stand more than once among those of a range, sorted."""
    parts = [np.zeros(0, dtype=np.uint64)]
    for own in asked.stored:
        run = own.values()
        last = len(run) if asked.high == _END else np.searchsorted(run, np.uint64(asked.high))
        parts.append(run[np.searchsorted(run, np.uint64(asked.low)) : last])
    return _twice(np.concatenate(parts))


def _twice(values: Hashes) -> Hashes:
    values.sort()
    return np.unique(values[1:][values[1:] == values[:-1]])
