"""When a request began to generate: no log says it, the end and the pace do.

Pages grow by one as tokens come. The last token comes as the pages are given back, so the
moments are counted from there, at the pace that long answers of the same rank show. How far
their own paces lie apart, that of any answer may lie from it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from forensics.attribution.holds import Holds, Ints

Floats = npt.NDArray[np.float64]
_LONG, _ENOUGH = 48, 12
"""Answers of so many tokens tell the pace, where there are so many of them."""


class Pace:
    """The time of one token by length of the prompt, and how far a first token may be off."""

    def __init__(self, holds: Holds) -> None:
        steps = np.maximum(holds.tokens - 1, 0)
        spent = holds.released - holds.reserved - np.maximum(holds.prefill, 0)
        self._earliest = holds.reserved + np.maximum(holds.prefill, 0)
        self._latest = holds.released
        pace, lead, self._apart = _fitted(steps, spent, holds.prompt)
        self._steps = np.where(np.isnan(pace), 0, steps)
        self.first = np.where(
            np.isnan(pace), self._earliest + lead, self._latest - np.nan_to_num(pace) * steps
        )
        off = np.abs(spent - lead - np.nan_to_num(pace) * steps)
        usual = float(np.median(off)) if len(off) else 0.0
        unsure = np.maximum(self._latest - self._earliest, 0) / 2
        self.doubt = np.where(np.isnan(pace), unsure, np.minimum(usual, unsure))

    def sampled(self, random: np.random.Generator, earlier: Ints, later: Ints) -> Ints:
        """Return one possible time of each first token.

        Args:
            random: where chance comes from.
            earlier: when the pages were taken, in this sample.
            later: when they were given back, in this sample.
        """
        moved = self.first + (2 * random.random(len(self.first)) - 1) * self.doubt
        moved -= self._steps * random.choice(self._apart, len(self._steps))
        moved += later - self._latest
        kept: Ints = np.clip(moved, earlier, later).astype(np.int64)
        return kept


def _fitted(steps: Ints, spent: Ints, prompt: Ints) -> tuple[Floats, float, Floats]:
    """Return the time of one token for each hold, not a number where unknown; and the lead.

    Also by how much that of each long answer was longer than that of the others like it.
    """
    bucket = np.log2(np.maximum(prompt, 1)).astype(np.int64)
    long = (steps >= _LONG) & (spent > 0)
    pace = np.full(len(steps), np.nan)
    if long.sum() < _ENOUGH:
        return pace, 0.0, np.zeros(1)
    usual = _middle(spent[long] / steps[long])
    lead = max(0.0, _middle(spent[long] - usual * steps[long]))
    short = (steps > 0) & (steps < _LONG) & (spent > 0)
    if short.sum() >= _ENOUGH:
        lead = max(0.0, _middle(spent[short] - usual * steps[short]))
    own = (spent[long] - lead) / steps[long]
    apart = own - _middle(own)
    for size in np.unique(bucket):
        here = bucket == size
        told = own[here[long]]
        if len(told) >= _ENOUGH:
            pace[here] = _middle(told)
            apart[here[long]] = told - _middle(told)
        else:
            pace[here] = _own(steps[here], spent[here], lead, usual)
    return pace, lead, apart


def _own(steps: Ints, spent: Ints, lead: float, usual: float) -> Floats:
    """Return each hold's own pace, never faster than usual: few have prompts of this length."""
    return np.maximum((spent - lead) / np.maximum(steps, 1), usual)


def _middle(values: npt.NDArray[np.floating]) -> float:
    return float(np.median(values))
