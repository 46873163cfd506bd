"""What times are expected of each node, how wide, and how far each request is from it.

Made in passes over blocks of the rows, of which only counts are kept: what comes out is the same
however the rows are split. A whole table is some blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from forensics.timing import baseline, ones
from forensics.timing.bins import Integers
from forensics.timing.blocks import Block, Blocks, Flags, Numbers, Spans
from forensics.timing.factor import FACTOR
from forensics.timing.fit import Array
from forensics.timing.shifts import Shifts
from forensics.timing.sketch import Sketch
from forensics.timing.spread import Limits, Residuals, octave_of

_PER_OCTAVE = 0.25
"""How much wider the expectation is for each octave beyond the lengths that were seen."""
_UNSEEN = 20.0
"""Octaves beyond what was seen, where nothing was."""
_ROUNDS = 4
"""So often it is asked at most whether a part shifted again: after a change, another."""


@dataclass(frozen=True)
class Expected:
    """Rows with a curve, the number of the group of each, and the ``curve``'s milliseconds."""

    block: Block
    group: Integers
    curve: Array

    def kept(self, wanted: Integers) -> Expected:
        """Return the rows at the wanted places."""
        return Expected(self.block.kept(wanted), self.group[wanted], self.curve[wanted])


@dataclass(frozen=True)
class Expectation:
    """The parts of the curve by number of a group, and what times are held against.

    ``limits`` is None where no group has a curve.
    """

    numbers: Numbers
    curves: Array
    limits: Limits | None

    def all(self, blocks: Iterable[Block]) -> Iterator[tuple[Expected, Limits]]:
        """Yield the rows of each block that have a curve."""
        if self.limits is not None:
            for block in blocks:
                yield _expected(block, self.numbers, self.curves), self.limits


def expectation(blocks: Blocks) -> Expectation:
    """Return what is expected of some rows.

    They are read twice, and twice more where a node shifted: each time is then expected anew.
    """
    layers: tuple[Spans, ...] = ()
    for _ in range(_ROUNDS):
        found, spans = _expectation(blocks, Numbers(layers))
        if not spans:
            break
        layers = (*layers, spans)
    return found


def _expectation(blocks: Blocks, numbers: Numbers) -> tuple[Expectation, Spans]:
    """Return what is expected within the parts that are known, and where these shifted."""
    sketch = Sketch()
    for block in blocks():
        sketch.add(block, numbers.of(block))
    pools = numbers.pools()
    curves = baseline.curves(sketch, pools) if len(pools) else np.zeros((0, 3))
    if not curves.any():
        return Expectation(numbers, curves, None), {}
    one = ones.measured(sketch, pools, curves)
    residuals, shifts = Residuals(len(pools)), Shifts(curves[:, 0], one.lone)
    for block in blocks():
        rows = _expected(block, numbers, curves)
        residuals.add(rows.block, rows.group, rows.curve)
        shifts.add(rows.block, rows.group, rows.curve)
    spans = shifts.found(list(numbers.parts))
    return Expectation(numbers, curves, residuals.limits(pools, curves, one)), spans


def _expected(block: Block, numbers: Numbers, curves: Array) -> Expected:
    group = numbers.of(block)
    fixed, token, pair = (part[group] for part in np.ascontiguousarray(curves.T))
    curve = block.cached + block.uncached / 2
    for step, value in ((np.multiply, pair), (np.add, token), (np.multiply, block.uncached)):
        step(curve, value, out=curve)
    curve += fixed
    found = Expected(block, group, curve)
    return found if curve.min(initial=1) > 0 else found.kept(np.flatnonzero(curve > 0))


def rounded(values: Array, digits: int = 6) -> Array:
    """Return values as they are shown: so many digits, and the same on every machine."""
    return pl.Series(values, dtype=pl.Float64).round_sig_figs(digits).to_numpy()


def widths(rows: Expected, limits: Limits) -> tuple[Array, Array]:
    """Return the widths to both sides, which are wider where no such length was seen.

    Times of short prompts are wide upwards, since they wait for their batch: they say nothing
    of long ones, so each length has a width of its own.
    """
    octave = octave_of(rows.block.uncached)
    low, high = limits.low[rows.group, octave], limits.high[rows.group, octave]
    longest = limits.longest[rows.group]
    far = np.flatnonzero(rows.block.uncached > longest)
    reach = _beyond(rows.block.uncached[far], longest[far])
    for width in (low, high):
        width[far] = np.sqrt(width[far] ** 2 + reach)
    return low, high


def _beyond(work: Integers, longest: Array) -> Array:
    """Return the square of what is added for lengths that were not seen."""
    octaves = np.log2(work / np.where(longest > 0, longest, np.nan))
    found: Array = (_PER_OCTAVE * np.where(np.isnan(octaves), _UNSEEN, octaves)) ** 2
    return found


def beyond(rows: Expected, limits: Limits) -> Flags:
    """Return which are by the factor faster than expected, and than any rate seen."""
    work, ms = rows.block.uncached, rows.block.ms
    found: Flags = (ms * FACTOR < rows.curve) & (work > FACTOR * limits.fastest[rows.group] * ms)
    return found
