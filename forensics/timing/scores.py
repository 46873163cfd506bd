"""Each request's time against what was to be expected, and which are too far from it.

Three things make a request too fast, and all are needed: the false-discovery rate over all
tested requests (Benjamini and Hochberg) says that chance does not explain it, it ran
:data:`~forensics.timing.widths.FACTOR` times faster than expected and than any rate seen on its
node, and it took a time that one token can take (:mod:`forensics.timing.ones`). One over the limit
has to be apart from those below it, too (:mod:`forensics.timing.peers`). A request whose cached
tokens are not known is never tested.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
import polars as pl

from forensics.timing import blocks
from forensics.timing.band import Band
from forensics.timing.bins import Integers
from forensics.timing.blocks import Blocks, Flags
from forensics.timing.doubts import MIXED, NO_TOKEN, PEERS
from forensics.timing.expected import Expectation, Expected, beyond, expectation, rounded, widths
from forensics.timing.factor import FACTOR
from forensics.timing.fit import Array
from forensics.timing.paces import Paces
from forensics.timing.peers import Peers
from forensics.timing.silent import Silent
from forensics.timing.spread import Limits

FALSE_DISCOVERIES = 0.001
"""Expected share of false ones among the requests called too fast, and among the slow ones."""
CANDIDATE = NormalDist().inv_cdf(1 - FALSE_DISCOVERIES)
"""No smaller score is ever significant."""
SCORES = ("expected_prefill_ms", "timing_ratio", "timing_fast", "timing_slow")


@dataclass(frozen=True)
class Scored:
    """:data:`SCORES` of each request, null where it was not tested, and where times lie.

    ``band`` is that of :mod:`forensics.timing.band`, ``silent`` that of
    :mod:`forensics.timing.silent`, ``paces`` that of :mod:`forensics.timing.paces`,
    ``unlike`` counts by source and node the requests that are far too fast but took no time of one
    token, and ``shifted`` says of each request whether it is within another pace.
    """

    columns: pl.DataFrame
    band: pl.DataFrame
    silent: pl.DataFrame
    paces: pl.DataFrame
    unlike: pl.DataFrame
    shifted: pl.Series


@dataclass(frozen=True)
class Judged:
    """What was ``expected``, and the row numbers of those that are too ``fast`` and ``slow``.

    ``unlike`` are as far from what is expected as the fast ones, and not called so for one of the
    reasons of :mod:`forensics.timing.doubts`. ``least`` is the score from which on
    one is too fast, or one alone would have been.
    """

    expected: Expectation
    fast: Integers
    unlike: dict[str, Integers]
    slow: Integers
    least: float


def score(rows: pl.DataFrame, size: int) -> Scored:
    """Return the scores of requests.

    Args:
        rows: those that are timed, of :func:`forensics.timing.work.timed`.
        size: how many requests there are, timed or not.
    """
    parts = list(blocks.of(rows))
    judged = judge(lambda: parts)
    expected, ratio = np.full((2, size), np.nan)
    band, silent = Band(), Silent()
    for known, limits in judged.expected.all(parts):
        curve, row = rounded(known.curve), known.block.row
        expected[row], ratio[row] = curve, known.block.ms / curve
        band.add(known.block.uncached, curve, *widths(known, limits))
        silent.add(known, limits, judged.expected, judged.least)
    paces, shifted = Paces(judged.expected.numbers), np.zeros(size, dtype=np.bool_)
    for block in parts:
        shifted[block.row] = paces.add(block)
    silent.untested(rows.filter(pl.Series(np.isnan(ratio))[rows["_row"]]))
    flags = np.zeros((2, size), dtype=np.bool_)
    for flag, found in zip(flags, (judged.fast, judged.slow), strict=True):
        flag[found] = True
    columns = pl.DataFrame(dict(zip(SCORES, (expected, ratio, *flags), strict=True)))
    tested = pl.col("expected_prefill_ms").is_not_nan()
    return Scored(
        columns.select(pl.when(tested).then(pl.col(SCORES))),
        band.table(),
        silent.table(),
        paces.table(),
        _unlike(rows, judged.unlike),
        pl.Series(shifted),
    )


def _unlike(rows: pl.DataFrame, found: Mapping[str, Integers]) -> pl.DataFrame:
    """Count the found rows of each node by reason."""
    named = [
        rows.filter(pl.Series(np.isin(rows["_row"].to_numpy(), one))).select(
            "source", "node", reason=pl.lit(reason)
        )
        for reason, one in found.items()
    ]
    counted = pl.concat(named).group_by("source", "node", "reason")
    return counted.agg(requests=pl.len().cast(pl.Int64)).sort("source", "node", "reason")


def judge(parts: Blocks) -> Judged:
    """Find the rows that are too fast or slow; few are kept.

    They are read three times, and more often where a node shifted.
    """
    model = expectation(parts)
    fast, slow, peers = _Side(), _Side(), Peers(model)
    tested = 0
    for rows, limits in model.all(parts()):
        tested += len(rows.curve)
        peers.add(rows)
        far = _far(rows, limits)
        ms, row = far.block.ms, far.block.row
        off = np.log(ms / far.curve)
        low, high = widths(far, limits)
        mark = np.where(limits.ones.like(far.block, far.group), peers.places(far), _NO_TOKEN)
        mark[limits.ones.mixed[far.group]] = _MIXED
        fast.add(-off / low, beyond(far, limits), row, mark)
        slow.add(off / high, ms > FACTOR * far.curve, row, mark)
    found, marks = fast.found(tested)
    quick = marks >= 0
    unlike = {NO_TOKEN: found[marks == _NO_TOKEN], MIXED: found[marks == _MIXED]}
    as_fast = np.zeros_like(quick)
    as_fast[quick] = peers.as_fast(marks[quick])
    unlike[PEERS], quick = found[as_fast], quick & ~as_fast
    return Judged(model, found[quick], unlike, slow.found(tested)[0], fast.least(tested))


_NO_TOKEN, _MIXED = -1, -2
"""Marks in place of where a row belongs: it took no token's time, or no such time can be told."""


def _far(rows: Expected, limits: Limits) -> Expected:
    """Return the rows whose score can be significant at all, with the curve as it is shown."""
    least = math.exp(-CANDIDATE * limits.least)
    ratio = rows.block.ms / rows.curve
    far = rows.kept(np.flatnonzero((ratio <= least) | (ratio * least >= 1)))
    return replace(far, curve=rounded(far.curve))


class _Side:
    """Scores to one side that may be significant, and the rows that are flagged if they are."""

    def __init__(self) -> None:
        self._scores: list[Array] = [np.zeros(0)]
        self._own: list[Array] = [np.zeros(0)]
        self._rows: list[Integers] = [np.zeros(0, dtype=np.int64)]
        self._marks: list[Integers] = [np.zeros(0, dtype=np.int64)]

    def add(self, score: Array, flagged: Flags, row: Integers, mark: Integers) -> None:
        """Add rows with their scores; ``flagged`` are those that significance alone holds back.

        ``mark`` is handed back with those that are found.
        """
        candidate = score >= CANDIDATE
        self._scores.append(score[candidate])
        self._own.append(score[candidate & flagged])
        self._rows.append(row[candidate & flagged])
        self._marks.append(mark[candidate & flagged])

    def least(self, tested: int) -> float:
        """Return the least score that is significant, or would be if it were the only one."""
        least = discovered(np.concatenate(self._scores), tested)
        alone = NormalDist().inv_cdf(1 - FALSE_DISCOVERIES / max(tested, 1))
        return least if math.isfinite(least) else alone

    def found(self, tested: int) -> tuple[Integers, Integers]:
        """Return the flagged rows of so many that were tested, and their marks."""
        significant = np.concatenate(self._own) >= discovered(np.concatenate(self._scores), tested)
        rows, marks = np.concatenate(self._rows), np.concatenate(self._marks)
        return rows[significant], marks[significant]


def discovered(scores: Array, tested: int | None = None, rate: float = FALSE_DISCOVERIES) -> float:
    """Return the least score that is significant, infinite where none is.

    Of all scores in order, the last whose one-sided probability is at most ``rate`` times
    its place over the number of scores (Benjamini and Hochberg).

    Args:
        scores: in widths of a normal distribution, those from :data:`CANDIDATE` on at least.
        tested: how many there are in all; None where none was left out.
        rate: share of false ones among those found that is put up with.
    """
    tested = len(scores) if tested is None else tested
    candidates = np.sort(scores[scores >= NormalDist().inv_cdf(1 - rate)])[::-1]
    chance = np.array([math.erfc(score / math.sqrt(2)) / 2 for score in candidates.tolist()])
    place = np.arange(1, len(candidates) + 1)
    found = np.flatnonzero(chance <= rate * place / tested) if tested else place[:0]
    return float(candidates[found[-1]]) if len(found) else math.inf
