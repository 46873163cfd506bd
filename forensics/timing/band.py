"""Where honest times of any node are expected, by tokens to compute."""

from __future__ import annotations

import numpy as np
import polars as pl

from forensics.timing.bins import Integers, bins_of, low_of
from forensics.timing.fit import Array

_BITS = 1
_WIDTHS = 3.0
_BINS = 2**9
"""More than there are."""


class Band:
    """Least and most expected of each half octave of tokens to compute."""

    def __init__(self) -> None:
        self._requests = np.zeros(_BINS, dtype=np.int64)
        self._least, self._most = np.full(_BINS, np.inf), np.zeros(_BINS)

    def add(self, uncached: Integers, expected: Array, low: Array, high: Array) -> None:
        """Add tested rows: tokens, expected milliseconds, and the widths to both sides."""
        place = bins_of(uncached, _BITS)
        self._requests += np.bincount(place, minlength=_BINS)
        np.minimum.at(self._least, place, expected * np.exp(-_WIDTHS * low))
        np.maximum.at(self._most, place, expected * np.exp(_WIDTHS * high))

    def table(self) -> pl.DataFrame:
        """Return from which ``tokens`` on how many ``requests`` are, ``least_ms``, ``most_ms``."""
        there = np.flatnonzero(self._requests)
        found = pl.DataFrame(
            {
                "tokens": there,
                "requests": self._requests[there],
                "least_ms": self._least[there],
                "most_ms": self._most[there],
            }
        )
        return found.with_columns(
            low_of(pl.col("tokens"), _BITS).cast(pl.Int64),
            pl.col("least_ms", "most_ms").round_sig_figs(4),
        )
