"""Where in a file its lines are how late, from a few of them and without a reader."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from forensics.checking import stamps
from forensics.checking.sample import Piece, take
from forensics.sources.files import Input

Place = tuple[int, int]
"""Byte offset, and the time that a line shows there, microseconds as written."""


@dataclass(frozen=True)
class Glance:
    """``places`` in order of the file; ``ahead`` is how far its stamps are ahead of UTC.

    ``naive`` says that its stamps show no zone: then ``ahead`` is told by epoch stamps beside
    them, or zero.
    """

    source: Input
    size: int
    places: tuple[Place, ...]
    ahead: int
    naive: bool

    @property
    def sorted(self) -> bool:
        """Say whether lines get later towards the end, in the places that were looked at."""
        times = [at for _, at in self.places]
        return len(times) >= 4 and times == sorted(times)

    @property
    def span(self) -> tuple[int, int]:
        """First and last moment, microseconds of UTC as far as that is known."""
        return self.places[0][1] - self.ahead, self.places[-1][1] - self.ahead

    @property
    def rate(self) -> float:
        """Bytes a microsecond, between the first and the last place."""
        start, end = self.span
        return self.size / (end - start) if end > start else 0.0


def glance(source: Input, share: int, told: Callable[[int], object]) -> Glance | None:
    """Return where a file's lines are how late; None where it cannot be read in slices."""
    try:
        sample = take(source, share, told, slices_only=True)
    except OSError:
        return None
    if sample.how != "slices":
        return None
    found = [stamps.stamps(piece.data) for piece in sample.pieces]
    naive = mostly_naive(found)
    ahead = next((at for p in sample.pieces if (at := stamps.ahead(p.data)) is not None), 0)
    return Glance(source, sample.size, places(sample.pieces, found), ahead if naive else 0, naive)


def mostly_naive(found: Sequence[stamps.Stamps]) -> bool:
    """Say whether most pieces show times without a zone."""
    return 2 * sum(piece.naive for piece in found) > len(found)


def places(pieces: Sequence[Piece], found: Sequence[stamps.Stamps]) -> tuple[Place, ...]:
    """Return the two ends of each piece that shows a time."""
    ends: list[Place] = []
    for piece, shown in zip(pieces, found, strict=True):
        if shown.times:
            end = piece.offset + len(piece.data)
            ends += [(piece.offset, shown.times[0]), (end, shown.times[-1])]
    return tuple(ends)
