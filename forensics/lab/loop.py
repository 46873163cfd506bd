"""A clock and a queue of events: ties are broken by the order of scheduling."""

from __future__ import annotations

import heapq
from collections.abc import Callable

from forensics.lab.clock import Micros

Action = Callable[[], None]


class Loop:
    """Runs actions in order of time; times are whole microseconds, so nothing is rounded."""

    def __init__(self) -> None:
        self.now: Micros = 0
        self._events: list[tuple[Micros, int, Action]] = []
        self._scheduled = 0

    def at(self, instant: Micros, action: Action) -> None:
        """Run `action` at `instant`."""
        self._scheduled += 1
        heapq.heappush(self._events, (instant, self._scheduled, action))

    def after(self, duration: Micros, action: Action) -> None:
        """Run `action` when `duration` has passed."""
        self.at(self.now + duration, action)

    def run(self) -> None:
        """Run until nothing is left to do."""
        while self._events:
            self.now, _, action = heapq.heappop(self._events)
            action()
