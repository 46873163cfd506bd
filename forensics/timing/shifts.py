"""Times in which a whole node is faster or slower than its curve, as after a change of hardware.

What was never computed takes the time of one token, however long the prompt, and only prompts
that one node cannot hold are such. Where a node as a whole is faster, short prompts take less
than that time, long ones more, and hardly any prompt in between takes what it took before.
Nothing is asked of prompts over the limit, since what is looked for is among these.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np

from forensics.timing.bins import Integers
from forensics.timing.blocks import Block, Flags, Part, Span, Spans, within
from forensics.timing.counts import Counter, merged, runs, spans
from forensics.timing.factor import FACTOR
from forensics.timing.fit import Array

_SHIFT = 1.6
"""From so many times faster or slower on a time speaks for a shift."""
_USUAL = 1.25
"""Up to so many times faster or slower a time speaks against it."""
_TELLING = 4.0
"""Prompts shorter than so many times the fixed part take the same, whatever a token costs."""
_ONE_TOKEN = 2.0
"""Up to so many times the fixed part one token may take, beside other prompts."""
_AGAINST = 4
"""One time against a shift outweighs so many that speak for it."""
_STRONG = 6
"""Times that would be called too fast and are no token's weigh so much: few are enough."""
_QUICK = 3
"""Those of short prompts weigh so much, since some wait for no other prompt anywhere."""
_LEAST = 50
"""What speaks for a shift has to outweigh what speaks against it by so much."""
_LAST = 20
"""By so much where all that a node logged before or after it is of one pace, and all within of
another: a change just before the end of a log leaves few to tell it by."""
_DAY = 24 * 60
"""Slow times that last less are those of a slow node, and shown as such."""
Counts: TypeAlias = tuple[Integers, Integers, Integers]
"""Minutes, kinds, and how many times there are of each."""
_KINDS = 8
_TOO_FAST, _FAST, _SAME, _SLOW, _BETWEEN, _SHORT_TOO_FAST, _SHORT_FAST, _SHORT = range(_KINDS)


class Shifts:
    """Counts by group and minute of times that speak for a shift, and against one.

    Args:
        fixed: the fixed part of each group's curve.
        lone: what one token takes in each that waits for no other prompt.
    """

    def __init__(self, fixed: Array, lone: Array) -> None:
        self._counts = Counter()
        self._fixed, self._groups = np.ascontiguousarray(fixed), len(fixed)
        self._lone = np.minimum(fixed, lone)

    def add(self, block: Block, group: Integers, curve: Array) -> None:
        """Count the rows of a block by what was expected of each."""
        kind = _kind(block.ms, curve, self._fixed[group], self._lone[group])
        place = (block.minute * self._groups + group) * _KINDS + kind
        self._counts.add(place[~block.over & (block.minute >= 0)])

    def found(self, parts: list[Part]) -> Spans:
        """Return the spans of each part in which it was shifted as a whole."""
        keys, number = self._counts.total()
        place, kind = np.divmod(keys, _KINDS)
        minute, group = np.divmod(place, self._groups)
        found: Spans = {}
        for one in np.unique(group[(kind != _SAME) & (kind != _SHORT)]).tolist():
            own = group == one
            spans = tuple(_spans(minute[own], kind[own], number[own]))
            if spans:
                found[parts[one]] = spans
        return found | _of_pools(parts, group, (minute, kind, number), set(found))


def _of_pools(parts: list[Part], group: Integers, counts: Counts, known: set[Part]) -> Spans:
    """Return the spans in which all parts of a pool shifted together, few of each.

    They are of each part with none of its own that has nothing to say against them.
    """
    found: Spans = {}
    pools: dict[object, list[int]] = {}
    for number, part in enumerate(parts):
        pools.setdefault(part.pool, []).append(number)
    for members in pools.values():
        left = [one for one in members if parts[one] not in known]
        if len(members) < 2 or not left:
            continue
        spans = tuple(_spans(*_summed(group, counts, members)))
        for one in left:
            own = tuple(part[group == one] for part in counts)
            agreed = tuple(span for span in spans if _agrees(own, span))
            if agreed:
                found[parts[one]] = agreed
    return found


def _summed(group: Integers, counts: Counts, members: list[int]) -> Counts:
    """Return the counts of some groups as those of one, by minute and kind."""
    own = np.isin(group, members)
    minute, kind, number = (part[own] for part in counts)
    keys, number = merged(minute * _KINDS + kind, number)
    return keys // _KINDS, keys % _KINDS, number


def _agrees(own: Counts, span: Span) -> bool:
    """Say whether a part has any row within a span, and no more at its old pace than at the new."""
    minute, kind, number = own
    place = within(minute, span)
    if not place.any():
        return False
    counts = np.bincount(kind[place], number[place], _KINDS)
    quick, slow = counts[_TOO_FAST] * _STRONG + counts[_FAST], counts[_SLOW]
    return bool((quick if span.side < 0 else slow) >= counts[_SAME] * _AGAINST)


def _kind(ms: Array, curve: Array, fixed: Array, lone: Array) -> Integers:
    """Return of what kind each time is; ``lone`` is what one token takes in a batch of its own."""
    signs = (
        (ms * _USUAL >= curve) & (ms <= curve * _USUAL),
        ms >= curve * _SHIFT,
        ms * _SHIFT <= curve,
        ms * FACTOR <= curve,
        (ms * _SHIFT <= lone) | (ms >= _ONE_TOKEN * fixed),
        curve < _TELLING * fixed,
        ms * _SHIFT <= fixed,
    )
    seen = np.zeros(len(ms), dtype=np.uint8)
    for bit, sign in enumerate(signs):
        seen |= sign.view(np.uint8) << bit
    return _KIND_OF[seen]


def _told(
    usual: bool, slow: bool, fast: bool, far: bool, no: bool, short: bool, brief: bool
) -> int:
    """Return the kind of times with some signs, in the order in which :func:`_kind` looks."""
    if short:
        return (_SHORT_TOO_FAST if far else _SHORT_FAST) if brief else _SHORT
    if no and far:
        return _TOO_FAST
    return _FAST if fast else _SLOW if slow else _SAME if usual else _BETWEEN


_SIGNS = 7
_KIND_OF: Integers = np.array(
    [_told(*(bool(seen >> bit & 1) for bit in range(_SIGNS))) for seen in range(2**_SIGNS)]
)
"""The kind of each set of signs: few operations on all rows, whatever a time may be."""


def _spans(minute: Integers, kind: Integers, number: Integers) -> Iterator[Span]:
    """Yield the slow spans, then the fast ones, which reach on to what is not of their kind.

    So what lies between the two is held against what is expected of the faster one.
    """
    first = runs(minute)
    minutes = minute[first]
    counts = np.zeros((_KINDS, len(minutes)), dtype=np.int64)
    counts[kind, np.repeat(np.arange(len(first)), np.diff(first, append=len(minute)))] = number
    too_fast, fast, same, slow, between, short_too_fast, short_fast, short = counts
    quick = too_fast + fast + short_too_fast + short_fast
    scores = slow - (too_fast + fast + same) * _AGAINST
    for start, end in heaviest(scores, _LEAST):
        if minutes[end] - minutes[start] >= _DAY:
            yield _open(minutes, start, end, too_fast + fast + same > 0)
    scores = too_fast * _STRONG + fast - (slow + same) * _AGAINST
    # Short prompts count on both sides: some are quick at any pace, since they wait for no other.
    # Where only what a token costs is another, they take the same, and the long ones say it.
    brief = short_too_fast * _QUICK + short_fast - short * _AGAINST * _QUICK
    other = (slow + same + between > 0) & (quick == 0)
    every = _enough(scores + brief, other)
    for start, end in every or _enough(scores, other):
        yield _reaching(minutes, start, end, other)


def _enough(scores: Integers, other: Flags) -> list[tuple[int, int]]:
    """Return the places that weigh enough: less will do where all others lie on one side."""
    found = heaviest(scores, _LAST)
    return [
        (start, end)
        for start, end in found
        if scores[start : end + 1].sum() >= _LEAST or other[:start].any() != other[end + 1 :].any()
    ]


def _open(minutes: Integers, start: int, end: int, other: Flags) -> Span:
    """Return the slow span from one place to another, without an end where none is of others."""
    first = int(minutes[start]) if other[:start].any() else None
    return Span(1, first, int(minutes[end]) if other[end + 1 :].any() else None)


def _reaching(minutes: Integers, start: int, end: int, other: Flags) -> Span:
    """Return the fast span from one place to another, and on to the next that are of others."""
    before, after = np.flatnonzero(other[:start]), np.flatnonzero(other[end + 1 :])
    first = int(minutes[before[-1]]) + 1 if len(before) else None
    last = int(minutes[end + 1 + after[0]]) - 1 if len(after) else None
    return Span(-1, first, last)


def heaviest(scores: Integers, least: int) -> list[tuple[int, int]]:
    """Return the first and last place of all runs of maximal sum, of at least so much.

    No run of these begins or ends with a part whose sum is not positive, nor would one that is
    longer weigh more (the maximal scoring subsequences of Ruzzo and Tompa).
    """
    first, ends = spans(scores > 0)
    sums = np.add.reduceat(scores, first) if len(scores) else scores
    found: list[tuple[int, int, int, int]] = []
    total = 0
    for score, start, end in zip(sums.tolist(), first.tolist(), (ends - 1).tolist(), strict=True):
        before, total = total, total + score
        if score <= 0:
            continue
        while (at := _lower(found, before)) >= 0 and found[at][1] < total:
            before, _, start, _ = found[at]
            del found[at:]
        found.append((before, total, start, end))
    return [(start, end) for before, after, start, end in found if after - before >= least]


def _lower(found: list[tuple[int, int, int, int]], before: int) -> int:
    """Return the last run before which the sum was lower, -1 where there is none."""
    return next((at for at in range(len(found) - 1, -1, -1) if found[at][0] < before), -1)
