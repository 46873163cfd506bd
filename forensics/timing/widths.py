"""How wide ratios of milliseconds to what was expected are, from counts of their bins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forensics.timing.bins import ONE, Integers, middles_of
from forensics.timing.blocks import Flags
from forensics.timing.counts import merged, reached, runs
from forensics.timing.factor import FACTOR
from forensics.timing.fit import Array

RATIO_BITS = 5
RATIOS = 2**13
"""More than there are bins of ratios."""
_FLOOR = 0.05
"""Least width, in natural logarithms: a bin's own."""
_MOST_BIAS = 0.7
_LOW, _HIGH = (0.20, 0.8416), (0.90, 1.2816)
"""Quantiles, and how many widths of a normal distribution they lie from the middle."""


def plausible(ratio: Integers) -> Flags:
    """Return which bins are of times that are not by the factor too fast."""
    found: Flags = ratio >= _LEAST_RATIO
    return found


_BELOW_ONE = np.arange(ONE * 2**RATIO_BITS)
_LEAST_RATIO = int(np.flatnonzero(middles_of(_BELOW_ONE, RATIO_BITS) >= 1 / FACTOR)[0])


@dataclass(frozen=True)
class Widths:
    """By owner: requests, the ``middle`` of the log ratio, and both widths.

    The widths are those of a normal distribution that has the same quantiles.
    """

    requests: Integers
    middle: Array
    low: Array
    high: Array

    @property
    def bias(self) -> Array:
        """How far the middle is off the curve, at most so far that it is still one curve."""
        return np.abs(self.middle).clip(max=_MOST_BIAS)


def widths(owner: Integers, ratio: Integers, requests: Integers, size: int) -> Widths:
    """Return the widths of so many owners; without requests they are the least ones.

    Args:
        owner: of each count: a node, a model, or a length.
        ratio: bin of it.
        requests: how many.
        size: number of owners.
    """
    keys, number = merged(owner * RATIOS + ratio, requests)
    first = runs(keys // RATIOS)
    place = keys[first] // RATIOS
    log = np.log(middles_of(keys % RATIOS, RATIO_BITS))
    middle, lower, upper = np.zeros((3, size))
    for quantile, share in ((middle, 0.5), (lower, _LOW[0]), (upper, _HIGH[0])):
        quantile[place] = log[reached(first, number, share)]
    total = np.zeros(size, dtype=np.int64)
    total[place] = np.add.reduceat(number, first)
    low = ((middle - lower) / _LOW[1]).clip(min=_FLOOR)
    return Widths(total, middle, low, ((upper - middle) / _HIGH[1]).clip(min=_FLOOR))
