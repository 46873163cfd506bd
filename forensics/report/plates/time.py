"""The axis of time of a picture on paper: where a moment stands, and the labels below."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from forensics.report import theme
from forensics.report.plates.ink import Shape, line, words

_DAY: Final = timedelta(days=1)
_LABELS: Final = 12
"""Labels of an axis at the most."""


def moment(text: str) -> datetime:
    """Return a time or a day of the document."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@dataclass(frozen=True)
class Axis:
    """Time from a first to a last moment, between two places from left to right."""

    first: datetime
    last: datetime
    left: float
    right: float
    whole_days: bool = False
    """Label days alone, however few there are."""

    def at(self, when: datetime) -> float:
        """Return where a moment stands; one beyond an edge stands at that edge."""
        share = (when - self.first) / max(self.last - self.first, timedelta(seconds=1))
        return self.left + (self.right - self.left) * min(max(share, 0.0), 1.0)

    def ticks(self) -> Iterator[datetime]:
        """Yield the moments that are labelled: whole days, or hours where there are few days."""
        step = self._step()
        midnight = self.first.replace(hour=0, minute=0, second=0, microsecond=0)
        for number in range(1 + int((self.last - midnight) / step)):
            if self.first <= midnight + number * step <= self.last:
                yield midnight + number * step

    def _step(self) -> timedelta:
        span = self.last - self.first
        for hours in (1, 3, 6, 12):
            if not self.whole_days and span <= _LABELS * timedelta(hours=hours):
                return timedelta(hours=hours)
        return max(1, -(-span // (_LABELS * _DAY))) * _DAY

    def drawn(self, top: float, bottom: float) -> list[Shape]:
        """Return its line at the bottom, and for each label a faint line up to the top."""
        form = "%-d %b" if self._step() >= _DAY else "%-d %b %H:%M"
        shapes = [line([(self.left, bottom), (self.right, bottom)])]
        for tick in self.ticks():
            x = self.at(tick)
            shapes.append(line([(x, top), (x, bottom + 3)], theme.GRID))
            shapes.append(words((x, bottom + 9), tick.strftime(form), "center"))
        return shapes
