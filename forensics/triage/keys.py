"""Which identifiers occur more than once in all of a set, without holding them all.

Each is a 64-bit hash, in sorted files. Two different ones of the same hash are called repeated
as well: their rows are kept, which costs a little and is never wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

Hashes: TypeAlias = npt.NDArray[np.uint64]
_AT_ONCE = 2**23
"""Hashes that are sorted together."""
_DASHED = 36


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


def repeated(stored: Sequence[Stored]) -> Hashes:
    """Return the hashes that stand more than once among some sorted ones, sorted."""
    runs = [own.values() for own in stored]
    total = sum(map(len, runs))
    edges = [i * 2**64 // (total // _AT_ONCE + 1) for i in range(1, total // _AT_ONCE + 1)]
    cuts = [
        np.concatenate([[0], np.searchsorted(run, np.array(edges, dtype=np.uint64)), [len(run)]])
        for run in runs
    ]
    found = [np.zeros(0, dtype=np.uint64)]
    for part in range(len(edges) + 1):
        slices = [run[cut[part] : cut[part + 1]] for run, cut in zip(runs, cuts, strict=True)]
        found.append(_twice(np.concatenate([np.zeros(0, dtype=np.uint64), *slices])))
    return np.concatenate(found)


def _twice(values: Hashes) -> Hashes:
    values.sort()
    return np.unique(values[1:][values[1:] == values[:-1]])
