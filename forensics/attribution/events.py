"""What happens to the holds of a rank: pages are taken, an answer begins, grows, and gives back.

An order of it is one way in which all of it may have come about.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from forensics.attribution.holds import Holds, Ints

Kinds = npt.NDArray[np.int8]
Small = npt.NDArray[np.int32]
RELEASE, START, GROW, RESERVE = range(4)
"""What can happen; of one moment in this order: who waits takes what another gives back."""


@dataclass(frozen=True)
class Order:
    """Events in order; ``size`` are pages taken, ``need`` what the free list must hold for it.

    ``written`` are the pages of each hold's prompt that arrived; ``last`` says where generated
    tokens filled the rest of its last page.
    """

    kind: Kinds
    hold: Ints
    size: Small
    need: Small
    written: Ints
    last: npt.NDArray[np.bool_]

    @cached_property
    def taken(self) -> Ints:
        """Pages taken before each event, and in all."""
        return np.concatenate([[0], np.cumsum(self.size, dtype=np.int64)])

    @cached_property
    def given(self) -> Ints:
        """Releases before each event."""
        return np.concatenate([[0], np.cumsum(self.kind == RELEASE)])

    @cached_property
    def release(self) -> Ints:
        """Position of each hold's release."""
        at = np.flatnonzero(self.kind == RELEASE)
        position = np.full(len(self.written), len(self.kind), dtype=np.int64)
        position[self.hold[at]] = at
        return position


@dataclass(frozen=True)
class Events:
    """What happens to the holds of a rank, by kind and hold: the same whatever order is drawn.

    ``change`` are pages taken or given back, ``need`` what a prompt finds free before it is let
    in, ``running`` by how many more or fewer requests generate.
    """

    kind: Kinds
    hold: Ints
    change: Small
    need: Small
    running: Kinds

    @classmethod
    def of(cls, holds: Holds, started: Ints, grower: Ints) -> Events:
        """Return them in order of kind."""
        every = np.arange(len(holds))
        counts = [len(holds), len(started), len(grower), len(holds)]
        # Pages of one token are taken by their number, others by whole pages and two more.
        whole = holds.prompt // holds.page_tokens + (0 if holds.page_tokens == 1 else 2)
        none, one = (np.full(sum(counts[1:3]), value) for value in (0, 1))
        ended = np.where(holds.tokens > 0, -1, 0)
        return cls(
            np.repeat(np.array([RELEASE, START, GROW, RESERVE], dtype=np.int8), counts),
            np.concatenate([every, started, grower, every]),
            _small(-(holds.pages + holds.grown), none[: counts[1]], one[: counts[2]], holds.pages),
            _small(np.zeros(len(holds)), none, whole),
            _small(ended, one[: counts[1]], none[: counts[2]], np.zeros(len(holds))).astype(
                np.int8
            ),
        )


def _small(*parts: npt.NDArray[Any]) -> Small:
    return np.concatenate([part.astype(np.int32) for part in parts])
