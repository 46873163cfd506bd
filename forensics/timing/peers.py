"""Prompts below the limit that are as fast as those over it: the limit explains neither then.

Only a prompt that a node cannot hold is swapped for a placeholder. Where prompts nearly as long,
below the limit, come back far too fast as well, something else makes both so: hardware that is
faster with long prompts, prefix hits nobody counted, a node that changed. They are the control
group of those over it: by their share it is expected how many of these are as fast for that
reason.
"""

from __future__ import annotations

import numpy as np

from forensics.timing.bins import Integers
from forensics.timing.blocks import Flags
from forensics.timing.expected import Expectation, Expected
from forensics.timing.fit import Array
from forensics.timing.spread import OCTAVES, octave_of

_NEAR = 2
"""Prompts of an octave are held against those of the same and of so many before it."""
_EXPLAINED = 0.05
"""Where such a share of the fast ones over the limit is to be expected without it, none counts."""
_ENOUGH = 20
"""A node with so many prompts nearly as long is held against its own, else against its model's."""
_BELOW, _OVER, _NOT_KNOWN = range(3)


class Peers:
    """Counts of tested prompts by node and octave: over the limit, below it, or not known which.

    Args:
        model: what was expected; its groups give the nodes, and the models of a source they run.
    """

    def __init__(self, model: Expectation) -> None:
        names = [part.group[:2] for part in model.numbers.parts]
        number = {name: place for place, name in enumerate(dict.fromkeys(names))}
        self._pool = np.array([number[name] for name in names], dtype=np.int64)
        self._tested = np.zeros((len(names), OCTAVES))
        if model.limits is not None:
            self._tested += model.limits.tested
        self._counts = np.zeros((3, len(names), OCTAVES))

    def add(self, rows: Expected) -> None:
        """Count tested rows that are not known to be below the limit."""
        rest = rows.kept(np.flatnonzero(~rows.block.below))
        np.add.at(self._counts, (_side(rest), rest.group, octave_of(rest.block.uncached)), 1)

    def places(self, rows: Expected) -> Integers:
        """Return of some rows where they belong, for :meth:`as_fast`."""
        owner = rows.group * OCTAVES + octave_of(rows.block.uncached)
        places: Integers = owner * 3 + _side(rows)
        return places

    def as_fast(self, places: Integers) -> Flags:
        """Say which fast rows are over the limit, and not apart from those below it.

        Args:
            places: of all rows that are too fast.
        """
        owner, side = np.divmod(places, 3)
        fast = [_counted(owner[side == one], len(self._pool)) for one in (_BELOW, _OVER)]
        below = _near(self._tested - self._counts.sum(axis=0))
        quick = _near(fast[0])
        share = np.where(below >= _ENOUGH, _share(quick, below), self._of_pool(quick, below))
        expected = np.where(fast[1] > 0, self._counts[_OVER] * share, 0).sum(axis=1)
        explained = expected > _EXPLAINED * fast[1].sum(axis=1)
        found: Flags = (side == _OVER) & explained[owner // OCTAVES]
        return found

    def _of_pool(self, quick: Array, below: Array) -> Array:
        """Return for each node the share that is fast of its model's."""
        sums = np.zeros((2, int(self._pool.max(initial=-1)) + 1, OCTAVES))
        for one, counts in zip(sums, (quick, below), strict=True):
            np.add.at(one, self._pool, counts)
        return _share(*sums)[self._pool]


def _side(rows: Expected) -> Integers:
    unknown = np.where(rows.block.over, _OVER, _NOT_KNOWN)
    side: Integers = np.where(rows.block.below, _BELOW, unknown)
    return side


def _share(some: Array, of: Array) -> Array:
    found: Array = np.divide(some, of, out=np.zeros_like(of), where=of > 0)
    return found


def _counted(owner: Integers, nodes: int) -> Array:
    return np.bincount(owner, minlength=nodes * OCTAVES).reshape(nodes, OCTAVES).astype(float)


def _near(counts: Array) -> Array:
    """Return for each octave what is in it and in the :data:`_NEAR` before it."""
    found = counts.copy()
    for shorter in range(1, _NEAR + 1):
        found[:, shorter:] += counts[:, :-shorter]
    return found
