"""Each request's time against what was to be expected, and which are too far from it.

Two things make a request too fast, and both are needed: the false-discovery rate over all
tested requests (Benjamini and Hochberg) says that chance does not explain it, and it ran
:data:`~forensics.timing.spread.FACTOR` times faster than any rate seen on its node. A
request whose cached tokens are not known is never tested.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import polars as pl

from forensics.timing.bins import bin_of, low_of
from forensics.timing.expected import expectation, tests
from forensics.timing.fit import Array
from forensics.timing.spread import FACTOR

FALSE_DISCOVERIES = 0.001
"""Expected share of false ones among the requests called too fast, and among the slow ones."""
SCORES = ("expected_prefill_ms", "timing_ratio", "timing_fast", "timing_slow")


@dataclass(frozen=True)
class Scored:
    """``_row`` and :data:`SCORES` of the rows that could be tested, and where times lie.

    ``band`` has for each half octave of tokens to compute, from ``tokens`` on, between which
    ``least_ms`` and ``most_ms`` honest times of any node are expected.
    """

    rows: pl.DataFrame
    band: pl.DataFrame


def score(rows: pl.DataFrame) -> Scored:
    """Return the scores of the rows that could be tested.

    Args:
        rows: of :func:`forensics.timing.work.timed`.
    """
    known = rows.filter(pl.col("uncached").is_not_null())
    tested = tests(known, expectation(lambda: [known]))
    least = Least.of(tested["fast_z"], tested["slow_z"], tested.height)
    found = tested.select(
        "_row",
        expected_prefill_ms="expected",
        timing_ratio=pl.col("ms") / pl.col("expected"),
        **least.flags(),
    )
    return Scored(found, _band(tested))


@dataclass(frozen=True)
class Least:
    """From which score on a request is too fast, and from which it is slow."""

    fast: float
    slow: float

    @classmethod
    def of(cls, fast: pl.Series, slow: pl.Series, tested: int) -> Least:
        """Return the least scores; ``fast`` and ``slow`` need hold only those from CANDIDATE."""
        return cls(discovered(fast.to_numpy(), tested), discovered(slow.to_numpy(), tested))

    def flags(self) -> dict[str, pl.Expr]:
        """Return ``timing_fast`` and ``timing_slow`` of tested rows."""
        late = pl.col("ms") > FACTOR * pl.col("expected")
        return {
            "timing_fast": (pl.col("fast_z") >= self.fast) & pl.col("beyond"),
            "timing_slow": (pl.col("slow_z") >= self.slow) & late,
        }


BAND_BITS = 1
_BAND_WIDTHS = 3.0


def _band(tested: pl.DataFrame) -> pl.DataFrame:
    expected, reach = pl.col("expected"), _BAND_WIDTHS
    band = tested.group_by(bin=bin_of(pl.col("uncached"), BAND_BITS)).agg(
        pl.len().cast(pl.Int64).alias("requests"),
        least_ms=(expected * (-reach * pl.col("low")).exp()).min().round_sig_figs(4),
        most_ms=(expected * (reach * pl.col("high")).exp()).max().round_sig_figs(4),
    )
    band = band.with_columns(tokens=low_of(pl.col("bin"), BAND_BITS).cast(pl.Int64))
    return band.select("tokens", "requests", "least_ms", "most_ms").sort("tokens")


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


CANDIDATE = NormalDist().inv_cdf(1 - FALSE_DISCOVERIES)
"""No smaller score is ever significant."""
