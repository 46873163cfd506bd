"""Stretches in which no log has a request of anybody, amid traffic that makes that no chance.

Where every hop lost its records of the same time, no hop can say so for another. A stretch
counts as lost where as much time before and after it, together, holds so many requests that
one of the same length would have many. Since the start of a rank it is the time after alone,
and longer: an engine loads a model before it takes requests. Traffic that really stopped looks
the same; records that were lost where there are few, or of some requests alone, are not seen.
"""

from __future__ import annotations

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
Span = tuple[int, int]


@dataclass(frozen=True)
class Silences:
    """Moments of which any log has a request, sorted; the stretches between that were lost."""

    times: Ints
    spans: list[Span]

    @classmethod
    def of(cls, times: pl.Series) -> Silences:
        """Return them for the times of all requests, in microseconds, in any order."""
        known = np.sort(times.drop_nulls().to_numpy().astype(np.int64))
        apart = np.diff(known)
        at = np.flatnonzero(apart >= SHORTEST)
        near = _within(known, known[at] - apart[at], known[at])
        near = near + _within(known, known[at + 1], known[at + 1] + apart[at])
        lost = at[near >= 2 * BUSY]
        spans = zip(known[lost].tolist(), known[lost + 1].tolist(), strict=True)
        return cls(known, list(spans))

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
        return [(since, begun)] if near[0] >= BUSY else []


def _within(times: Ints, since: Ints, until: Ints) -> Ints:
    """Return how many times lie in each stretch, its ends among them."""
    low = np.searchsorted(times, since, side="left")
    high = np.searchsorted(times, until, side="right")
    return high - low
