"""Stretches of a log without a record, which its own traffic makes no chance.

They are found from the times themselves, wherever they begin and however long they are. Minutes
with a record count, not records, so that what comes within one minute is one arrival.

A stretch is no chance where, in a whole log as long as this one, fewer than :data:`FALSE` such
stretches are to be expected, whichever way they are counted:

* By how full the time around it is. That is cut into as many cells as fit :data:`AROUND` times
  the stretch on each side, and cells of a minute or more are empty or not: from the share ``q`` of
  empty ones (Jeffreys' estimate) it follows that ``k`` in a row are with ``q ** k``. For a Poisson
  process that is ``exp(-rate * length)``, whatever the cells; bursts that are shorter than a cell
  make no difference. Each side counts by itself, and the emptier one decides: a stretch at the
  edge of a quiet night is none. So do the same hours of the other days, and those of the same
  weekday, where the log reaches them.
* By how few records tell how fast they came: of ``n`` in ``T`` minutes on a side the chance that
  none follows for as long as the stretch is ``(T / (T + length)) ** (n + 1/2)``, whatever the rate
  of a Poisson process was (its posterior under Jeffreys' prior). Five that came ten minutes apart
  are no sign that the sixth cannot take an hour and a half.
* By how long its other gaps are: those around it, and those of the whole log, each in terms of
  how many records lie around it. The longest ones say how fast longer ones get rare: beyond a high
  threshold the excess is near to exponential, and its mean, raised by as much as its own
  uncertainty, says how many as long as this are to be expected (peaks over threshold; Pickands,
  Annals of Statistics 3, 1975; Davison and Smith, J. R. Stat. Soc. B 52, 1990). The very longest
  are taken as no shorter than the next, since they may be losses themselves (censored as in
  Epstein and Sobel, J. Am. Stat. Assoc. 48, 1953). That holds for conversations and bursts of any
  length, where cells alone take them for steady traffic.

A long stretch is none where the log begins at the time of day, or of the week, at which it ends,
and ends at the one at which it begins: of those hours the log has no day that would show traffic,
and a service that is closed then leaves just this. A loss fits so at both ends by chance alone.

Other traffic that really stopped looks like a loss. Where a log holds too few records around a
stretch to tell, it is not found; so it is where records of some requests alone were lost.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

FALSE = 1e-4
"""How many may be expected in a log from which nothing is missing: one in ten thousand such logs.

It is a level for traffic that is steady within a day, or comes in many short bursts. Where a log
holds some bursts only, each as long as the pauses between them, one in ten can have such a pause.
"""
SHORTEST = 10
"""Minutes: a shorter stretch is none, whatever the traffic."""
AROUND = 3
"""How much time on each side is looked at, in lengths of the stretch."""
CELLS = 8
"""Into how few cells the stretch is cut; into twice as many, and so on, down to minutes."""
FEW = 0.2
"""What share of a log's time stretches may have that are all taken for losses."""
TOP = 12
"""The longest gaps from which it is taken how fast longer ones get rare: so many, or more."""
DAY, WEEK = 1440, 7
NIGHT, EDGE = 360, 60
"""Minutes: how long a service is closed at the least, and how far from that first and last fall."""
_SIDED = 1.645
"""Of the normal distribution, for a bound of 95 % of a mean."""
Minutes = npt.NDArray[np.int64]


def silences(minutes: Minutes) -> list[tuple[int, int]]:
    """Return the stretches, from the first minute without a record to the next one with any.

    Args:
        minutes: numbers of the minutes with a record, sorted, each once.
    """
    if len(minutes) < SHORTEST:
        return []
    begin, end = minutes[:-1] + 1, minutes[1:]
    unlikely = _unlikely(minutes, begin, end) & ~_of_no_day(minutes, begin, end)
    some = np.flatnonzero(unlikely).tolist()
    if not some:
        return []
    near, empty = _around(minutes, begin, end), end > begin
    every = np.sort(near[empty])
    lost, found = int((end - begin)[some].sum()), []
    for at in some:
        start, stop = int(begin[at]), int(end[at])
        rare = _beyond(every, float(near[at])) if len(every) > 2 * TOP else 0.0
        beside = minutes
        if 1 < len(some) <= _last(len(every)) and lost <= FEW * (end[-1] - begin[0]):
            # So few may all be losses: what one leaves of the time around another says nothing.
            spans = [np.arange(begin[other], end[other]) for other in some if other != at]
            beside = np.union1d(minutes, np.concatenate(spans))
        if max(rare, _expected(minutes, beside, start, stop)) <= FALSE:
            found.append((start, stop))
    return found


def _around(minutes: Minutes, begin: Minutes, end: Minutes) -> Minutes:
    """Return how many minutes with a record lie as close to each stretch as it is long."""
    length = end - begin
    return _within(minutes, begin - length, begin) + _within(minutes, end, end + length)


def _unlikely(minutes: Minutes, begin: Minutes, end: Minutes) -> npt.NDArray[np.bool_]:
    """Say which are stretches by the minutes beside them: the others need no closer look."""
    length = end - begin
    before = np.minimum(length, begin - minutes[0])
    after = np.minimum(length, minutes[-1] + 1 - end)
    empty = np.maximum(
        _share(before - _within(minutes, begin - before, begin), before),
        _share(after - _within(minutes, end, end + after), after),
    )
    positions = np.log((minutes[-1] - minutes[0] + 1) / np.maximum(length, 1))
    rare = length * np.log(empty) + positions <= math.log(FALSE)
    some: npt.NDArray[np.bool_] = (length >= SHORTEST) & rare
    return some


def _of_no_day(minutes: Minutes, begin: Minutes, end: Minutes) -> npt.NDArray[np.bool_]:
    """Say which lie at hours of the day, or of the week, that no other one in the log has."""
    found = np.zeros(len(begin), dtype=bool)
    for period in (DAY, WEEK * DAY):
        starts = np.abs(end - period - minutes[0]) <= EDGE
        found |= starts & (np.abs(begin + period - (minutes[-1] + 1)) <= EDGE)
    return found & (end - begin >= NIGHT)


def _share(empty: npt.NDArray[np.int64], of: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    return (empty + 0.5) / (of + 1)


def _within(minutes: Minutes, begin: Minutes, end: Minutes) -> Minutes:
    return np.searchsorted(minutes, end) - np.searchsorted(minutes, begin)


def _expected(minutes: Minutes, beside: Minutes, begin: int, end: int) -> float:
    """Return how many such stretches are to be expected, by the way that expects most.

    Args:
        minutes: those with a record.
        beside: the same, as if other stretches had records: for the time around this one.
        begin: of the stretch.
        end: of the stretch.
    """
    length = end - begin
    positions = (int(minutes[-1]) - int(minutes[0]) + 1) / length
    most = max(_by_gaps(beside, begin, end, reach) for reach in (1, AROUND))
    most = max(most, positions * max(_by_count(beside, begin, end)))
    cells = CELLS
    while cells <= length:
        empty = max(
            [*_around_it(beside, begin, end, cells), *_other_days(minutes, begin, end, cells)]
        )
        most = max(most, positions * empty**cells)
        cells *= 2
    return most


def _by_count(minutes: Minutes, begin: int, end: int) -> Iterator[float]:
    """Yield how likely nothing comes for as long, by how much came on each side in how long."""
    length = end - begin
    for first, last in ((begin - AROUND * length, begin), (end, end + AROUND * length)):
        inside = max(first, int(minutes[0])), min(last, int(minutes[-1]) + 1)
        number = int(np.diff(np.searchsorted(minutes, inside))[0])
        span = inside[1] - inside[0]
        yield (span / (span + length)) ** (number + 0.5)


def _around_it(minutes: Minutes, begin: int, end: int, cells: int) -> Iterator[float]:
    """Yield the share of empty cells on each side, near it and farther, as far as the log goes."""
    width = (end - begin) / cells
    before = int((begin - int(minutes[0])) / width)
    after = int((int(minutes[-1]) + 1 - end) / width)
    for reach in (cells, AROUND * cells):
        one, other = min(before, reach), min(after, reach)
        yield _share_empty(minutes, begin - one * width, width, one)
        yield _share_empty(minutes, end, width, other)


def _other_days(minutes: Minutes, begin: int, end: int, cells: int) -> Iterator[float]:
    """Yield the mean share of empty cells at the same time of other days, and of the weekday."""
    first, last, length = int(minutes[0]), int(minutes[-1]) + 1, end - begin
    days = [day for day in range(-WEEK, WEEK + 1) if day and abs(day) * DAY >= length]
    days = [day for day in days if begin + day * DAY >= first and end + day * DAY <= last]
    for some in (days, [day for day in days if abs(day) == WEEK]):
        if some:
            width = length / cells
            shares = [_share_empty(minutes, begin + day * DAY, width, cells) for day in some]
            yield sum(shares) / len(shares)


def _share_empty(minutes: Minutes, begin: float, width: float, cells: int) -> float:
    """Return Jeffreys' estimate of the share of empty cells from a moment on."""
    inside = minutes[slice(*np.searchsorted(minutes, [begin, begin + cells * width]))]
    full = len(np.unique(((inside - begin) / width).astype(np.int64)))
    return (cells - min(full, cells) + 0.5) / (cells + 1)


def _by_gaps(minutes: Minutes, begin: int, end: int, reach: int) -> float:
    """Return how many gaps as long are to be expected by the longest ones around."""
    length = end - begin
    low, high = np.searchsorted(minutes, [begin - reach * length, end + reach * length])
    at = int(np.searchsorted(minutes, end))
    gaps = np.sort(np.concatenate([np.diff(minutes[low:at]), np.diff(minutes[at:high])]))
    if len(gaps) <= TOP:
        return math.inf
    span = int(minutes[-1]) - int(minutes[0]) + 1
    return max(1.0, span / (2 * reach * length)) * _beyond(gaps, length + 1)


def _beyond(values: npt.NDArray[Any], value: float) -> float:
    """Return how many of so many values are to be expected at one or beyond, by the largest."""
    top, last = _top(len(values)), _last(len(values))
    threshold, largest = int(values[-top - 1]), int(values[-last - 1])
    counted = float((values[-top:-last] - threshold).sum()) + last * (largest - threshold) + 1
    excess = counted / (top - last) * (1 + _SIDED / math.sqrt(top - last))
    return top * math.exp(-max(0.0, value - threshold) / excess)


def _top(number: int) -> int:
    """Return of how many of some values it is taken how fast larger ones get rare."""
    return max(TOP, math.isqrt(number))


def _last(number: int) -> int:
    """Return how many of these may be losses themselves."""
    return _top(number) // 4
