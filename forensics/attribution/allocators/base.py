"""What the strategies of page reuse share: which holds read, and whose pages they found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from forensics.attribution.events import Order
from forensics.attribution.holds import Ints

NOBODY = -1
"""Writer of a page that was not written since the start."""


@dataclass(frozen=True)
class Reads:
    """Which holds read pages that they had not written, and how many of each had arrived."""

    wanted: npt.NDArray[np.bool_]
    arrived: Ints


@dataclass(frozen=True)
class Found:
    """Whose pages were read: reader, owner (:data:`NOBODY` for never used) and pages, summed."""

    reader: Ints
    owner: Ints
    pages: Ints


Part = tuple[Ints, Ints, Ints]
"""Readers, owners and pages of some of what was read."""
Replay = Callable[[Order, int, Reads], Found | None]
Replays = Callable[[Sequence[Order], int, Reads], list[Found | None]]


@dataclass(frozen=True)
class Allocator:
    """A strategy of page reuse: its name in the logs, what it does, and how it is replayed.

    ``replay`` is None where nothing can be said beyond co-residency; ``together`` replays many
    orders of the same holds at once, where that is quicker than one after the other.
    """

    name: str
    meaning: str
    replay: Replay | None
    together: Replays | None = None

    def replay_all(self, orders: Sequence[Order], pool: int, reads: Reads) -> list[Found | None]:
        """Return whose pages each read found in each order, None where it exceeds the pool."""
        if self.together is not None and orders:
            return self.together(orders, pool, reads)
        replay = self.replay
        return [replay(order, pool, reads) if replay else None for order in orders]


def found(parts: list[Part], reads: Reads) -> Found:
    """Return the pieces summed by reader and owner."""
    if not parts:
        empty = np.zeros(0, dtype=np.int64)
        return Found(empty, empty, empty)
    reader, owner, pages = (np.concatenate(column) for column in zip(*parts, strict=True))
    key = reader * (len(reads.wanted) + 1) + owner + 1
    keys, where = np.unique(key, return_inverse=True)
    summed = np.bincount(where, weights=pages, minlength=len(keys)).astype(np.int64)
    return Found(keys // (len(reads.wanted) + 1), keys % (len(reads.wanted) + 1) - 1, summed)
