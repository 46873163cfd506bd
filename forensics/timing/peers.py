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


class Peers:
    """Counts of tested prompts by model and octave, over the limit and below it.

    Args:
        model: what was expected; its groups give the models, each of one source.
    """

    def __init__(self, model: Expectation) -> None:
        names = [part.group[:2] for part in model.numbers.parts]
        number = {name: place for place, name in enumerate(dict.fromkeys(names))}
        self._pool = np.array([number[name] for name in names], dtype=np.int64)
        self._tested = np.zeros((len(number), OCTAVES))
        if model.limits is not None:
            np.add.at(self._tested, self._pool, model.limits.tested)
        self._over = np.zeros((len(number), OCTAVES))

    def add(self, rows: Expected) -> None:
        """Count tested rows that are over the limit."""
        over = np.flatnonzero(rows.block.over)
        place = self._pool[rows.group[over]], octave_of(rows.block.uncached[over])
        np.add.at(self._over, place, 1)

    def places(self, rows: Expected) -> Integers:
        """Return of some rows where they belong, for :meth:`as_fast`."""
        owner = self._pool[rows.group] * OCTAVES + octave_of(rows.block.uncached)
        places: Integers = owner * 2 + rows.block.over
        return places

    def as_fast(self, places: Integers) -> Flags:
        """Say which fast rows are over the limit, and not apart from those below it.

        Args:
            places: of all rows that are too fast.
        """
        owner, over = np.divmod(places, 2)
        fast = [_counted(owner[over == side], len(self._over)) for side in (0, 1)]
        below = _near(self._tested - self._over)
        share = np.divide(_near(fast[0]), below, out=np.zeros_like(below), where=below > 0)
        expected = np.where(fast[1] > 0, self._over * share, 0).sum(axis=1)
        explained = expected > _EXPLAINED * fast[1].sum(axis=1)
        found: Flags = (over == 1) & explained[owner // OCTAVES]
        return found


def _counted(owner: Integers, pools: int) -> Array:
    return np.bincount(owner, minlength=pools * OCTAVES).reshape(pools, OCTAVES).astype(float)


def _near(counts: Array) -> Array:
    """Return for each octave what is in it and in the :data:`_NEAR` before it."""
    found = counts.copy()
    for shorter in range(1, _NEAR + 1):
        found[:, shorter:] += counts[:, :-shorter]
    return found
