"""Who waits for pages: a reservation that found too few came after somebody gave some back.

Times that are coarse may have it the other way round. Within their coarseness an order is changed
until no more is held than there is; where that cannot be, the order is none that happened.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forensics.attribution.events import RELEASE, RESERVE, Events, Kinds
from forensics.attribution.holds import Ints

Span = tuple[int, int]
_MOST_MOVES = 64


@dataclass(frozen=True)
class Waiting:
    """Puts releases before what waited for them.

    ``pages`` are those of each hold's prompt, ``pool`` those of the rank; ``reach`` is by how much
    a time may be off, microseconds.
    """

    events: Events
    pages: Ints
    pool: int
    reach: int

    def feasible(self, order: Ints, times: Ints) -> Ints | None:
        """Put the releases first that a reservation must have waited for; None: there are none.

        Only what lies within the coarseness of the times is moved.
        """
        kind, hold, change = self.events.kind, self.events.hold, self.events.change
        used = np.cumsum(change[order], dtype=np.int64)
        over = np.flatnonzero(used > self.pool).tolist()
        times = times[order] if over else times
        for at in over:
            begin, end = np.searchsorted(times, [times[at] - self.reach, times[at] + self.reach])
            for _ in range(_MOST_MOVES):
                if used[at] <= self.pool:
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
        fits = used[:at] - self.pages[hold[window[:at]]] + self.pages[hold[window[at]]]
        room = np.flatnonzero((kind[window[:at]] == RESERVE) & (fits <= self.pool))
        return (int(room[-1]), int(ends[-1])) if len(room) and len(ends) else None


def _next_release(window: Ints, at: int, kind: Kinds, hold: Ints) -> Span | None:
    """Return from where to where to move the next release of a hold that was taken before."""
    later = window[at:]
    taken = hold[later[kind[later] == RESERVE]]
    found = np.flatnonzero((kind[later] == RELEASE) & ~np.isin(hold[later], taken))
    return (at, at + int(found[0])) if len(found) else None
