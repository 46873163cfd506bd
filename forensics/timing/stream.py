"""Scores of more requests than fit in memory: parts are read three times, and few rows are kept.

Only rows whose score could be significant are kept until all parts are seen; the significance
itself is that of :mod:`forensics.timing.scores`, over all rows that were tested.
"""

from __future__ import annotations

import polars as pl

from forensics.timing.expected import Parts, expectation, tests
from forensics.timing.scores import CANDIDATE, Least

_KEPT = ("_row", "node", "ms", "uncached", "expected", "fast_z", "slow_z", "beyond")


def flagged(parts: Parts) -> pl.DataFrame:
    """Return the rows that are too fast or slow, with ``timing_fast`` and ``timing_slow``.

    Args:
        parts: called once for each pass; each time the same parts of
            :func:`forensics.timing.work.timed`, whose ``_row`` numbers go through all of them.
    """
    model = expectation(lambda: map(_known, parts()))
    kept, tested = [], 0
    for part in parts():
        rows = tests(_known(part), model).select(_KEPT)
        tested += rows.height
        kept.append(rows.filter(pl.max_horizontal("fast_z", "slow_z") >= CANDIDATE))
    found = pl.concat(kept)
    least = Least.of(found["fast_z"], found["slow_z"], tested)
    flags = found.with_columns(**least.flags())
    return flags.filter(pl.col("timing_fast") | pl.col("timing_slow"))


def _known(part: pl.DataFrame) -> pl.DataFrame:
    return part.filter(pl.col("uncached").is_not_null())
