"""One possible order of what happened on a rank, with what the logs leave open drawn.

Open are the moments within the coarseness of the times, when an answer began, and how much
of a hand-off that failed had been written. Draws are seeded by the records themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from forensics.attribution.holds import ONE_OR_ALL, Holds, Ints
from forensics.attribution.pace import Pace

Kinds = npt.NDArray[np.int8]
Small = npt.NDArray[np.int32]
Span = tuple[int, int]
_MOST_MOVES = 64
_EXTREME = 0.4
"""Share of the draws in which a failed transfer brought nothing, and of those it brought all."""
_APART = 100_000
"""Microseconds by which a stamp may be off beside its coarseness."""
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
class _Events:
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
    def of(cls, holds: Holds, started: Ints, grower: Ints) -> _Events:
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


class Orders:
    """Draws orders of the holds of a rank.

    Args:
        holds: of one rank, between two of its starts.
        pool: pages of the rank.

    ``open`` says that the logs leave open what happened first, or how much was written.
    """

    def __init__(self, holds: Holds, pool: int) -> None:
        self._holds, self._pool = holds, pool
        self._pace = Pace(holds)
        self._seed = int.from_bytes(holds.digest[:16], "big")
        self._coarse = holds.coarse
        self.open = bool((holds.written < 0).any()) or self._tied()
        self._reach = 2 * int(max(coarse.max(initial=1) for coarse in self._coarse)) + _APART
        last = np.cumsum(holds.grown)
        self._grower = np.repeat(np.arange(len(holds)), holds.grown)
        number = np.arange(len(self._grower)) - np.repeat(last - holds.grown, holds.grown)
        rows = (holds.pages[self._grower] + number) * holds.page_tokens
        steps = np.maximum(holds.tokens - 1, 1)[self._grower]
        self._share = np.clip((rows - holds.prompt[self._grower]) / steps, 0, 1)
        self._started = np.flatnonzero(holds.tokens > 0)
        self._events = _Events.of(holds, self._started, self._grower)
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
        feasible = self._feasible(order, times)
        return None if feasible is None else self._order(feasible, _written(holds, random, number))

    def _order(self, order: Ints, written: Ints) -> Order:
        events = self._events
        kind, change, need = events.kind[order], events.change[order], events.need[order]
        running = np.cumsum(events.running[order], dtype=np.int32)
        step = (kind == START) | (kind == GROW)
        need[step] = np.maximum(running[step], 1)
        size = np.maximum(change, 0)
        return Order(kind, events.hold[order], size, need, written, self._last)

    def _feasible(self, order: Ints, times: Ints) -> Ints | None:
        """Put the releases first that a reservation must have waited for; None: there are none.

        Only what lies within the coarseness of the times is moved.
        """
        kind, hold, change = self._events.kind, self._events.hold, self._events.change
        used = np.cumsum(change[order], dtype=np.int64)
        over = np.flatnonzero(used > self._pool).tolist()
        times = times[order] if over else times
        for at in over:
            begin, end = np.searchsorted(times, [times[at] - self._reach, times[at] + self._reach])
            for _ in range(_MOST_MOVES):
                if used[at] <= self._pool:
                    break
                window = order[begin:end]
                found = _next_release(window, at - begin, kind, hold)
                if found is None:
                    found = self._before(window, at - begin, used[begin:end], kind, hold)
                if found is None:
                    return None
                low, high = begin + found[0], begin + found[1] + 1
                span = order[low:high]
                own = hold[span] == hold[window[found[1]]]
                order[low:high] = np.concatenate([span[own], span[~own]])
                used[low:high] = (used[low - 1] if low else 0) + np.cumsum(change[order[low:high]])
            else:
                return None
        return order

    def _before(self, window: Ints, at: int, used: Ints, kind: Kinds, hold: Ints) -> Span | None:
        """Find room for a short hold as a whole before one that was taken in the same moment."""
        mine = hold[window] == hold[window[at]]
        ends = np.flatnonzero(mine & (kind[window] == RELEASE))
        fits = (
            used[:at] - self._holds.pages[hold[window[:at]]] + self._holds.pages[hold[window[at]]]
        )
        room = np.flatnonzero((kind[window[:at]] == RESERVE) & (fits <= self._pool))
        return (int(room[-1]), int(ends[-1])) if len(room) and len(ends) else None


def _next_release(window: Ints, at: int, kind: Kinds, hold: Ints) -> Span | None:
    """Return from where to where to move the next release of a hold that was taken before."""
    later = window[at:]
    taken = hold[later[kind[later] == RESERVE]]
    found = np.flatnonzero((kind[later] == RELEASE) & ~np.isin(hold[later], taken))
    return (at, at + int(found[0])) if len(found) else None


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
