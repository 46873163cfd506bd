"""Prompts over the limit of which no time could have said anything: silence clears nobody.

A prompt that is swapped for one token takes the fixed part of its node's curve. Where even that
time would not stand out, the times are too wide for that prompt, and it is counted here.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl

from forensics.timing.blocks import Group
from forensics.timing.expected import Expectation, Expected, beyond, rounded, widths
from forensics.timing.factor import FACTOR
from forensics.timing.spread import Limits

REASONS = {
    "no tokens": "the prompt or its cached tokens are not logged",
    "no measure": "too few requests or lengths are known to tell what is usual",
    "little work": "most of their tokens were cached, and the rest takes hardly longer than one "
    "token: a prompt that was swapped for one would look the same",
    "shared": "they took what one token takes that waits for others in its batch, and too few "
    "times of such lengths are known here to call that too fast",
    "fast node": "a fifth or more of the times there are as fast as what is looked for, so that "
    "no expectation fits: cached tokens may be counted otherwise, or many prompts were not "
    "computed",
    "far node": "most times there are far from those of its model",
    "mixed": "times of more than one unit are mixed there",
    "wide": "times of such lengths differ too much, or were never seen",
}
"""Why the time of a prompt cannot decide."""
SILENT: dict[str, pl.DataType] = {
    **dict.fromkeys(("source", "node", "reason"), pl.String()),
    "requests": pl.Int64(),
    "over": pl.Int64(),
}


class Silent:
    """Counts by source and node of prompts over the limit, and of those without an answer."""

    def __init__(self) -> None:
        self._over: Counter[tuple[str | None, str | None]] = Counter()
        self._silent: Counter[tuple[str | None, str | None, str]] = Counter()

    def add(self, rows: Expected, limits: Limits, model: Expectation, least: float) -> None:
        """Count tested rows; ``least`` is the score from which on one is significant."""
        rows = rows.kept(np.flatnonzero(rows.block.over))
        if not len(rows.curve):
            return
        fixed, token, pair = model.curves[rows.group].T
        ms = np.minimum(fixed + token + pair / 2, rows.block.ms)
        low, _ = widths(rows, limits)
        clear = np.log(rows.curve / ms) >= least * low
        much = rows.block.uncached > FACTOR * limits.fastest[rows.group] * ms
        much &= ms * FACTOR < rows.curve
        alike = beyond(rows, limits) & limits.ones.like(rows.block, rows.group)
        # As it was judged, to the last bit: one that is too fast may be the least one.
        significant = -np.log(rows.block.ms / rounded(rows.curve)) / low >= least
        names = [part.group for part in model.numbers.parts]
        answers = (much.tolist(), clear.tolist(), (alike & ~significant).tolist())
        told = (alike & significant).tolist()
        for group, found, *answer in zip(rows.group.tolist(), told, *answers, strict=True):
            reason = None if found else _reason(group, limits, *answer)
            self._count(names[group], reason)

    def untested(self, rows: pl.DataFrame) -> None:
        """Count timed rows that were not tested, with ``source``, ``node`` and ``uncached``."""
        over = rows.filter("over").select("source", "node", known=pl.col("uncached").is_not_null())
        for source, node, known in over.iter_rows():
            self._count((source, None, node, None), "no measure" if known else "no tokens")

    def _count(self, group: Group, reason: str | None) -> None:
        source, _model, node, _since = group
        self._over[source, node] += 1
        if reason is not None:
            self._silent[source, node, reason] += 1

    def table(self) -> pl.DataFrame:
        """Return ``requests`` without an answer of all ``over``, by source, node and reason."""
        found = [
            (source, node, reason, requests, self._over[source, node])
            for (source, node, reason), requests in self._silent.items()
        ]
        return pl.DataFrame(found, schema=SILENT, orient="row").sort("source", "node", "reason")


def _reason(group: int, limits: Limits, much: bool, clear: bool, alike: bool) -> str | None:
    """Return why it cannot decide; None where one token's time would be beyond what is wide.

    ``alike`` is one that took such a time beside others of its batch, and was not beyond it.
    """
    if limits.ones.mixed[group]:
        return "mixed"
    if much and clear:
        return "shared" if alike else None
    if not much:
        return "little work"
    if limits.fast[group]:
        return "fast node"
    return "far node" if limits.apart[group] else "wide"
