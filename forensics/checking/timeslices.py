"""The same stretch of time from every file, so that both sides of a hand-off are in the sample.

Slices at the same share of each file are hours apart. Where files are written in order of
time, a place is found by halving: a few kilobytes are looked at, of which only the dates count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import BinaryIO

from forensics.checking import stamps
from forensics.checking.glance import Glance, Place
from forensics.checking.sample import Range

Told = Callable[[int], object]
Span = tuple[int, int]
"""First and last moment, microseconds."""

MOMENTS = 2
"""Stretches of time that are read of every file."""
PROBE = 4 << 10
"""Bytes that are looked at to tell how late a place is."""
_STEPS = 10
_ROOMY = 1.5
"""A stretch is given this much more room than the file's average: traffic is uneven."""
_NEAR = 8
"""A stretch is sought to an eighth of its length, and so much is read before it."""
SLICED, SOUGHT = 3, 8
"""A third of a file's share is read of these stretches, an eighth spent on finding them."""


@dataclass(frozen=True)
class Stretch:
    """Some time that is read of every file; microseconds of UTC."""

    start: int
    length: int

    def within(self, span: Span) -> bool:
        """Say whether a span holds all of it."""
        return span[0] <= self.start and self.start + self.length <= span[1]


def stretches(seen: Sequence[Glance], share: int, window: Span | None) -> list[Stretch]:
    """Return stretches that most of the files cover, as long as the shares allow.

    Args:
        seen: files whose lines are in order of time.
        share: bytes that may be read of each of them.
        window: start and end of the case in UTC, or None.
    """
    common = _most_covered([span for span in (_inside(g.span, window) for g in seen) if span])
    fastest = max((g.rate for g in seen), default=0.0)
    if common is None or not fastest:
        return []
    length = int(share / SLICED / MOMENTS / fastest / _ROOMY)
    start, end = common
    step = (end - start) // (MOMENTS + 1)
    if not 0 < length < step:
        return []
    return [Stretch(start + n * step, length) for n in range(1, MOMENTS + 1)]


def _inside(span: Span, window: Span | None) -> Span | None:
    start, end = span
    if window is not None:
        start, end = max(start, window[0]), min(end, window[1])
    return (start, end) if start < end else None


def _most_covered(spans: Sequence[Span]) -> Span | None:
    """Return the longest time that as many spans as possible have in common."""
    edges = sorted({edge for span in spans for edge in span})
    covered = [
        (sum(a <= start and end <= b for a, b in spans), end - start, -start)
        for start, end in pairwise(edges)
    ]
    if not covered:
        return None
    _, length, start = max(covered)
    return -start, -start + length


def ranges(seen: Glance, wanted: Sequence[Stretch], share: int, told: Told) -> tuple[Range, ...]:
    """Return where in a file those stretches stand."""
    if seen.source.path is None or not wanted:
        return ()
    steps = min(_STEPS, share // SOUGHT // PROBE // len(wanted))
    each = share // SLICED // len(wanted)
    found = []
    with seen.source.path.open("rb", buffering=0) as file:
        for stretch in wanted:
            near = stretch.length // _NEAR
            start = place(file, seen, stretch.start + seen.ahead - near, near, steps, told)
            length = int(seen.rate * stretch.length * _ROOMY)
            found.append((start, start + min(max(length, PROBE), each)))
    return tuple(found)


def place(file: BinaryIO, seen: Glance, at: int, near: int, steps: int, told: Told) -> int:
    """Return about the offset up to which a file's lines are earlier than a time as written.

    Args:
        file: where to look.
        seen: a first glance at it.
        at: the time, microseconds as written.
        near: how much earlier lines there may be.
        steps: how often a few kilobytes may be looked at.
        told: called with the number of bytes just read.
    """
    low = max((spot for spot in seen.places if spot[1] <= at), default=(0, at))
    high = min((spot for spot in seen.places if spot[1] > at), default=(seen.size, at))
    for step in range(steps):
        if high[0] - low[0] <= PROBE or 0 < at - low[1] <= near:
            return low[0]
        guess = _between(low, high, at, halve=step % 3 == 2)
        file.seek(guess)
        data = file.read(PROBE)
        told(len(data))
        time = stamps.middle(data.partition(b"\n")[2])
        if time is None:
            break
        if time <= at:
            low = (guess, time)
        else:
            high = (guess, time)
    return _between(low, high, at, halve=False)


def _between(low: Place, high: Place, at: int, *, halve: bool) -> int:
    """Return an offset between two places: where the time would be, or half-way."""
    room = max(high[0] - low[0] - PROBE, 0)
    if halve or high[1] <= low[1]:
        return low[0] + room // 2
    return low[0] + int(room * (at - low[1]) / (high[1] - low[1]))


def together(files: Iterable[tuple[Sequence[Place], int]], wanted: Sequence[Stretch]) -> list[Span]:
    """Return the time that the samples of all those files have in common, for each stretch.

    ``files`` are the places that were read of each, and how far it is ahead of UTC. A file
    that does not cover a stretch as a whole has no part in it.
    """
    shifted = [[at - ahead for _, at in places] for places, ahead in files]
    found = []
    for stretch in wanted:
        covering = [times for times in shifted if times and stretch.within((times[0], times[-1]))]
        held = [_piece_at(times, stretch) for times in covering]
        spans = [span for span in held if span is not None]
        if spans and len(spans) == len(held):
            start, end = max(a for a, _ in spans), min(b for _, b in spans)
            if start < end:
                found.append((start, end))
    return found


def _piece_at(times: Sequence[int], stretch: Stretch) -> Span | None:
    """Return when the piece begins and ends that holds the middle of a stretch."""
    middle = stretch.start + stretch.length // 2
    for start, end in zip(times[::2], times[1::2], strict=False):
        if start <= middle <= end:
            return start, end
    return None
