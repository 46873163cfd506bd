"""Several orders of one rank as one: what a step costs hardly grows with how many it is for.

Each order has a lane: its events lie behind those of the lane before, its holds have numbers of
their own, and so have the pages of its pool.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import pairwise

import numpy as np

from forensics.attribution.allocators.base import NOBODY, Found, Reads
from forensics.attribution.events import Order
from forensics.attribution.holds import Ints


@dataclass(frozen=True)
class Lanes:
    """The orders as one ``order``; the events of each lane lie from ``begin`` to ``end``."""

    order: Order
    reads: Reads
    begin: Ints
    end: Ints

    @classmethod
    def of(cls, orders: Sequence[Order], reads: Reads) -> Lanes:
        """Return them for orders of the same holds, of which the same ones read."""
        count, holds = len(orders), len(reads.wanted)
        if count == 1:
            return cls(orders[0], reads, np.array([0]), np.array([len(orders[0].kind)]))
        columns = {
            field.name: np.concatenate([getattr(order, field.name) for order in orders])
            for field in fields(Order)
        }
        events = np.array([len(order.kind) for order in orders])
        columns["hold"] += np.repeat(np.arange(count) * holds, events)
        all_reads = Reads(np.tile(reads.wanted, count), np.tile(reads.arrived, count))
        end = np.cumsum(events)
        return cls(Order(**columns), all_reads, end - events, end)

    def split(self, found: Found) -> list[Found]:
        """Return what was found in each lane, under the numbers that its holds had."""
        count = len(self.begin)
        holds = len(self.reads.wanted) // count
        edges = np.searchsorted(found.reader, np.arange(count + 1) * holds)
        spans = [slice(low, high) for low, high in pairwise(edges)]
        owner = np.where(found.owner == NOBODY, NOBODY, found.owner % holds)
        return [Found(found.reader[s] % holds, owner[s], found.pages[s]) for s in spans]


def ragged(begin: Ints, end: Ints) -> Ints:
    """Return all numbers from each begin to its end, one stretch after the other."""
    count = end - begin
    upto = np.cumsum(count)
    numbers: Ints = np.arange(count.sum()) + np.repeat(begin - upto + count, count)
    return numbers
