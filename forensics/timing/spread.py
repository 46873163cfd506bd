"""How far honest times lie from the curve, what rates were seen, and up to which length.

Made from counts of ``ms / expected`` by node and octave of work, like the curve itself.
Requests that are :data:`FACTOR` times faster than expected may be what is looked for, so
they count in no width, rate or length; only where a node has too many of them they do.
Nor does the rate of a prompt over the limit count: what is looked for is among these.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from forensics.timing.bins import ONE, Integers, bins_of
from forensics.timing.blocks import Block, Flags
from forensics.timing.counts import Counter
from forensics.timing.factor import FACTOR
from forensics.timing.fit import Array
from forensics.timing.ones import Ones
from forensics.timing.widths import RATIO_BITS, RATIOS, Widths, plausible, widths

_ENOUGH = 20
_SEEN = 5
_FAST = 0.2
"""Where such a share of a node's times is as fast as what is looked for, no curve fits it."""
_OWN_RATE = 500
"""From so many requests on a node is held against its own rates, else against its model's."""
OCTAVES = 2**6
"""More than there are."""


def octave_of(tokens: Integers) -> Integers:
    """Return the octave of positive tokens: 0 of one token."""
    return bins_of(tokens, 0) - ONE


@dataclass(frozen=True)
class Limits:
    """What the time of a request is held against.

    By group and octave of work the widths ``low`` and ``high`` in natural logarithms; by group
    the ``longest`` prompt seen, 0 for none, and the ``fastest`` rate, in tokens a millisecond.
    ``least`` is the least width of any that was seen. By group ``fast`` and ``apart`` say that a
    fifth of its times is as fast as what is looked for, or that most are far from the curve.
    ``ones`` is what one token takes; ``tested`` counts the requests by group and octave.
    """

    low: Array
    high: Array
    longest: Array
    fastest: Array
    least: float
    fast: Flags
    apart: Flags
    ones: Ones
    tested: Integers


class Residuals:
    """Counts by group, octave and ratio; largest rate and most tokens of the plausible ones."""

    def __init__(self, groups: int) -> None:
        self._counts = Counter()
        self._rate, self._longest = np.zeros((2, groups * OCTAVES))

    def add(self, block: Block, group: Integers, expected: Array) -> None:
        """Count the rows of a block by what was expected of each."""
        at = group * OCTAVES + octave_of(block.uncached)
        ratio = bins_of(block.ms / expected, RATIO_BITS)
        self._counts.add(at * RATIOS + ratio)
        rate = np.where(block.over, 0.0, block.uncached / block.ms)
        rate, longest = (np.where(plausible(ratio), one, 0.0) for one in (rate, block.uncached))
        np.maximum.at(self._rate, at, rate)
        np.maximum.at(self._longest, at, longest)

    def limits(self, pools: Integers, curves: Array, ones: Ones) -> Limits:
        """Return what the rows are held against.

        Args:
            pools: the number of each group's pool.
            curves: the three parts of each group's curve.
            ones: what one token takes in each group.
        """
        keys, requests = self._counts.total()
        at, ratio = np.divmod(keys, RATIOS)
        group, octave = np.divmod(at, OCTAVES)
        size = int(pools.max()) + 1
        near = np.flatnonzero(plausible(ratio))
        place = pools[group[near]] * OCTAVES + octave[near]
        length = widths(place, ratio[near], requests[near], size * OCTAVES)
        pool = widths(pools[group], ratio, requests, size)
        node = widths(group, ratio, requests, len(pools))
        quick = ~plausible(ratio) & _told(curves, ones)[group, octave]
        number = np.bincount(group, requests * quick, len(pools))
        fast = (node.requests >= _ENOUGH) & (number >= _FAST * node.requests)
        off = _off(node, fast)[:, None]
        low, high = (
            _forward(own, length.requests, shared)
            for own, shared in (
                (length.low + length.bias, pool.low),
                (length.high + length.bias, pool.high),
            )
        )
        low, high = low[pools] + off, high[pools] + off
        return Limits(
            low=low,
            high=high,
            longest=_longest(self._longest, length.requests, pools)[pools],
            fastest=self._fastest(node, pools, curves),
            least=float(np.minimum(low, high)[group, octave].min()),
            fast=fast,
            apart=(node.requests >= _ENOUGH) & (np.abs(node.middle) > math.log(FACTOR)),
            ones=ones,
            tested=_tested(at, requests, len(pools)),
        )

    def _fastest(self, node: Widths, pools: Integers, curves: Array) -> Array:
        """The largest rate seen, but no less than the largest that the curve expects.

        A node that saw short prompts only saw no such rate.
        """
        own = self._rate.reshape(-1, OCTAVES).max(axis=1)
        shared = np.zeros(len(pools))
        np.maximum.at(shared, pools, own)
        seen = np.where((node.requests >= _OWN_RATE) & (own > 0), own, shared[pools])
        return np.maximum(seen, _largest(curves))


def _tested(at: Integers, requests: Integers, groups: int) -> Integers:
    tested = np.zeros(groups * OCTAVES, dtype=np.int64)
    np.add.at(tested, at, requests)
    return tested.reshape(-1, OCTAVES)


def _largest(curves: Array) -> Array:
    """Return the largest rate of each curve, where the fixed part and attention weigh the same.

    Without attention it is reached far out, and 0 stands for a curve whose rate has no end.
    """
    fixed, token, pair = curves.T
    least = token + np.sqrt(2 * fixed * pair)
    found: Array = np.divide(1, least, out=np.zeros(len(least)), where=least > 0)
    return found


def _longest(tokens: Array, plausible: Integers, pools: Integers) -> Array:
    """Return the most tokens of each pool in octaves with some plausible requests."""
    found = np.zeros(len(plausible))
    octaves = np.arange(OCTAVES)
    np.maximum.at(found, (pools[:, None] * OCTAVES + octaves).ravel(), tokens)
    longest: Array = np.where(plausible >= _SEEN, found, 0.0).reshape(-1, OCTAVES).max(axis=1)
    return longest


def _forward(widths: Array, requests: Integers, otherwise: Array) -> Array:
    """Return widths by pool and octave: with few requests those of the next shorter that has more.

    Where there is none, it is that of the pool.
    """
    known = (requests >= _ENOUGH).reshape(-1, OCTAVES)
    last = np.maximum.accumulate(np.where(known, np.arange(OCTAVES), -1), axis=1)
    filled = np.take_along_axis(widths.reshape(-1, OCTAVES), last.clip(min=0), axis=1)
    found: Array = np.where(last >= 0, filled, otherwise[:, None])
    return found


def _off(node: Widths, fast: Flags) -> Array:
    """Return how far each group is off its curve.

    Where one request in five is as fast as what is looked for, no curve fits that node: the
    cached tokens may be counted otherwise there. It is then off by its own width.
    """
    middle = np.abs(node.middle)
    off = np.where(fast, np.maximum(node.low, middle), middle)
    found: Array = np.where(node.requests >= _ENOUGH, off, 0.0)
    return found


def _told(curves: Array, ones: Ones) -> Flags:
    """Return the lengths of each group whose prompts take far longer than one token can.

    A shorter one that waits for no other is quick without being what is looked for. Where it is
    not known what one token takes, all are told.
    """
    tokens = 2.0 ** np.arange(OCTAVES)
    fixed, token, pair = curves.T[..., None]
    least = np.where(np.isfinite(ones.most), FACTOR * ones.most, 0.0)[:, None]
    found: Flags = fixed + token * tokens + pair * tokens**2 / 2 >= least
    return found
