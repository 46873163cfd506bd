"""Stretches in which no log has a request of anybody, amid traffic that makes that no chance.

Where every hop lost its records of the same time, no hop can say so for another. A stretch
counts as lost where as much time before and after it, together, holds so many requests that
one of the same length would have many, and more than bursts explain (:func:`_enough`). Since
the start of a rank it is the time after alone, and longer: an engine loads a model before it
takes requests. Traffic that really stopped looks the same; records that were lost where there
are few, or of some requests alone, are not seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import polars as pl

from forensics.activity import HOUR
from forensics.attribution.holds import Ints
from forensics.boots import BEGINNING
from forensics.coverage import BUSY

LOADING = HOUR // 2
"""Microseconds from a start within which an engine need not have taken requests."""
SHORTEST = 60_000_000
"""Microseconds: a shorter stretch is no loss of a log's."""
MOST = 100_000
"""Stretches from which it is taken how bursty a log is."""
Span = tuple[int, int]


@dataclass(frozen=True)
class Silences:
    """Moments of which any log has a request, sorted; the stretches between that were lost.

    ``enough`` moments in as much time around a stretch make it no chance that it is empty.
    """

    times: Ints
    spans: list[Span]
    enough: float

    @classmethod
    def of(cls, times: pl.Series) -> Silences:
        """Return them for the times of all requests, in microseconds, in any order."""
        known = np.unique(times.drop_nulls().to_numpy().astype(np.int64))
        apart = np.diff(known)
        at = np.flatnonzero(apart >= SHORTEST)
        near = _around(known, at)
        enough: float = 2 * BUSY
        if (near >= enough).any():
            some = np.arange(0, len(apart), 1 + len(apart) // MOST)
            enough = max(enough, _enough(_around(known, some)))
        lost = at[near >= enough]
        spans = zip(known[lost].tolist(), known[lost + 1].tolist(), strict=True)
        return cls(known, list(spans), enough)

    def between(self, since: int, until: int) -> list[Span]:
        """Return the stretches from a start to a read, with that from the start on."""
        found = [(a, b) for a, b in self.spans if b > since and a < until]
        return [*self._from(since, until), *found]

    def _from(self, since: int, until: int) -> list[Span]:
        """Return the stretch from a start to the first request, where it is too long."""
        later = self.times[np.searchsorted(self.times, since) :]
        if since == BEGINNING or not len(later) or later[0] > until or later[0] - since <= LOADING:
            return []
        begun = int(later[0])
        near = _within(self.times, np.array([begun]), np.array([2 * begun - since]))
        return [(since, begun)] if near[0] >= self.enough / 2 else []


def _around(times: Ints, at: Ints) -> Ints:
    """Return how many moments lie as close to each stretch as it is long, on both sides."""
    begin, end = times[at], times[at + 1]
    apart = end - begin
    return _within(times, begin - apart, begin) + _within(times, end, end + apart)


def _enough(near: Ints) -> float:
    """Return from how many moments around it on an empty stretch is no burst's end.

    Requests come in conversations and in bursts of one tenant, so stretches with many around
    them are no rarity. How much rarer they are the more there are is taken from the log itself,
    from its middle stretch to the square root of all, and followed to where one in their square
    would be: in one log of as many as it has stretches.
    """
    number, high = len(near), math.isqrt(len(near))
    middle, top = np.sort(near)[[-(number // 2), -high]].tolist()
    rarer = (top - middle) / math.log(number / (2 * high))
    return float(top + rarer * math.log(number * high))


def _within(times: Ints, since: Ints, until: Ints) -> Ints:
    """Return how many times lie in each stretch, its ends among them."""
    low = np.searchsorted(times, since, side="left")
    high = np.searchsorted(times, until, side="right")
    return high - low
