"""One possible order of what happened on a rank, with what the logs leave open drawn.

Open are the moments within the coarseness of the times, when an answer began, and how much
of a hand-off that failed had been written. Draws are seeded by the records themselves.
"""

from __future__ import annotations

import numpy as np

from forensics.attribution.events import GROW, START, Events, Order
from forensics.attribution.holds import ONE_OR_ALL, Holds, Ints
from forensics.attribution.pace import Pace
from forensics.attribution.waiting import Waiting

_EXTREME = 0.4
"""Share of the draws in which a failed transfer brought nothing, and of those it brought all."""
_APART = 100_000
"""Microseconds by which a stamp may be off beside its coarseness."""


class Orders:
    """Draws orders of the holds of a rank.

    Args:
        holds: of one rank, between two of its starts.
        pool: pages of the rank.

    ``open`` says that the logs leave open what happened first, or how much was written.
    """

    def __init__(self, holds: Holds, pool: int) -> None:
        self._holds = holds
        self._pace = Pace(holds)
        self._seed = int.from_bytes(holds.digest[:16], "big")
        self._coarse = holds.coarse
        self.open = bool((holds.written < 0).any()) or self._tied()
        reach = 2 * int(max(coarse.max(initial=1) for coarse in self._coarse)) + _APART
        last = np.cumsum(holds.grown)
        self._grower = np.repeat(np.arange(len(holds)), holds.grown)
        number = np.arange(len(self._grower)) - np.repeat(last - holds.grown, holds.grown)
        rows = (holds.pages[self._grower] + number) * holds.page_tokens
        steps = np.maximum(holds.tokens - 1, 1)[self._grower]
        self._share = np.clip((rows - holds.prompt[self._grower]) / steps, 0, 1)
        self._started = np.flatnonzero(holds.tokens > 0)
        self._events = Events.of(holds, self._started, self._grower)
        self._waiting = Waiting(self._events, holds.pages, pool, reach)
        self._last = (holds.tokens > 1) & (holds.prompt % holds.page_tokens > 0)

    def _tied(self) -> bool:
        """Say whether times are so coarse that what happened first is not known."""
        times = np.concatenate([self._holds.reserved, self._holds.released])
        order = np.argsort(times, kind="stable")
        upto = np.maximum.accumulate((times + np.concatenate(self._coarse))[order])
        return bool((times[order][1:] < upto[:-1]).any())

    def draw(self, number: int) -> Order | None:
        """Return the order of one number, or None where what it draws needs more than the pool.

        The same records give the same order.
        """
        holds = self._holds
        random = np.random.Generator(np.random.PCG64([self._seed, number]))
        reserved = holds.reserved + _within(random, self._coarse[0])
        released = holds.released + _within(random, self._coarse[1])
        # Within its own time a hold is taken, grows and is given back in this order.
        released = np.maximum(released, reserved + 2)
        first = self._pace.sampled(random, reserved + 1, released - 1)
        grower = self._grower
        grown = first[grower] + (self._share * (released - 1 - first)[grower]).astype(np.int64)
        times = np.concatenate([released, first[self._started], grown, reserved])
        order = np.argsort((times << 2) | self._events.kind, kind="stable")
        feasible = self._waiting.feasible(order, times)
        return None if feasible is None else self._order(feasible, _written(holds, random, number))

    def _order(self, order: Ints, written: Ints) -> Order:
        events = self._events
        kind, change, need = events.kind[order], events.change[order], events.need[order]
        running = np.cumsum(events.running[order], dtype=np.int32)
        step = (kind == START) | (kind == GROW)
        need[step] = np.maximum(running[step], 1)
        size = np.maximum(change, 0)
        return Order(kind, events.hold[order], size, need, written, self._last)


def _within(random: np.random.Generator, coarse: Ints) -> Ints:
    """Return how far each moment lies within its second or millisecond."""
    return (random.random(len(coarse)) * coarse).astype(np.int64)


def _written(holds: Holds, random: np.random.Generator, number: int) -> Ints:
    """Return the pages of each prompt that arrived, drawn where no log says it.

    Every fourth draw takes the least of all of them and every fourth the most, so that a claim
    that needs the one or the other is never one of nearly all draws.
    """
    least = holds.arrived
    some = (random.random(len(holds)) * (holds.pages + 1)).astype(np.int64)
    way = random.random(len(holds))
    some = np.where(holds.written == ONE_OR_ALL, least, some)
    drawn = np.where(way < _EXTREME, least, np.where(way >= 1 - _EXTREME, holds.pages, some))
    drawn = (least, holds.pages, drawn, drawn)[number % 4]
    return np.where(holds.written < 0, drawn, holds.written).clip(0, holds.pages)
