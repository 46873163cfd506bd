"""What one token takes: the times of prompts so short that their tokens weigh little.

A placeholder is one token, so that a prompt that was swapped for one takes such a time, neither
far less nor far more, whatever it waited for. Quantiles of a pool, relative to each curve: a node
that saw long prompts only borrows from its model's others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forensics.timing.bins import Integers
from forensics.timing.blocks import Block, Flags
from forensics.timing.counts import reached, spans
from forensics.timing.factor import FACTOR
from forensics.timing.fit import Array
from forensics.timing.sketch import Sketch

_SHORT = 2.0
"""A prompt is short that is expected to take up to so many times what one token takes."""
_ENOUGH = 20
_LONE, _WAITING = 0.2, 0.9995
"""Shares of the short ones: as fast as one that waits for no other, and up to nearly all."""
_FASTEST = 0.05
"""Where most batches are shared, fewer than :data:`_LONE` wait for no other: so many do anywhere,
and where units are not mixed, none of these is of another one."""
_MARGIN = 1.5
_NO_TIME, _MIXED = 0.1, 0.02
"""Where so many short prompts took so small a part of the lone ones' time, units are mixed."""


@dataclass(frozen=True)
class Ones:
    """By group, in milliseconds: what a ``lone`` token takes, and the ``least`` and ``most``.

    Where too few short prompts were seen, ``lone`` is what the curve says, and any time may be a
    token's. Where times are of mixed units, none is.
    """

    lone: Array
    least: Array
    most: Array

    @property
    def mixed(self) -> Flags:
        """Say of which groups the times are of more than one unit: no time is a token's there."""
        found: Flags = self.most == 0
        return found

    def like(self, block: Block, group: Integers) -> Flags:
        """Return which rows took a time that one token can take."""
        found: Flags = (block.ms >= self.least[group]) & (block.ms <= self.most[group])
        return found


def measured(sketch: Sketch, pools: Integers, curves: Array) -> Ones:
    """Return what one token takes in each group.

    Args:
        sketch: of all rows.
        pools: the number of each group's pool.
        curves: the three parts of each group's curve.
    """
    one = curves[:, 0] + curves[:, 1] + curves[:, 2] / 2
    lone, least, most = _ratios(sketch, pools, curves, one)
    return Ones(one * np.minimum(lone, 1), one * least, np.where(one > 0, one, 1) * most)


def _ratios(sketch: Sketch, pools: Integers, curves: Array, one: Array) -> Array:
    """Return the three figures of each group relative to its curve."""
    found = np.tile([[1.0], [0.0], [np.inf]], (1, int(pools.max()) + 1))
    times = sketch.times()
    fixed, token, pair = curves[times.owner].T
    u, c = times.uncached, times.cached
    curve = fixed + token * u + pair * u * (c + u / 2)
    short = np.flatnonzero((curve > 0) & (curve <= _SHORT * one[times.owner]))
    pool, ratio = pools[times.owner[short]], times.ms[short] / curve[short]
    order = np.lexsort((ratio, pool))
    pool, ratio, number = pool[order], ratio[order], times.requests[short][order]
    for start, end in zip(*spans(pool), strict=True):
        if number[start:end].sum() >= _ENOUGH:
            found[:, pool[start]] = _range(ratio[start:end], number[start:end])
    return found[:, pools]


def _range(ratio: Array, number: Integers) -> tuple[float, float, float]:
    whole = np.zeros(1, dtype=np.int64)
    fastest, lone, waiting = (
        float(ratio[reached(whole, number, q)[0]]) for q in (_FASTEST, _LONE, _WAITING)
    )
    none = int(number[ratio < lone * _NO_TIME].sum())
    mixed = none >= _MIXED * int(number.sum())
    return lone, fastest / FACTOR, 0.0 if mixed else waiting * _MARGIN
