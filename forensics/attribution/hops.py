"""Do the times of decode agree with those of the client's side: no hold before its request.

A request is received before decode takes pages for it, and an answer that ended of itself is
finished at the front end after decode gave them back. So the clock of decode can be ahead by no
more than it took the pages after the request, and behind by no more than it gave them back
before the end. Where no distance of the clocks allows that for all requests but a few, times
were logged, or changed, wrongly, and so was the order of reuse.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from forensics.attribution.holds import Ints
from forensics.attribution.moments import SECOND

_SLACK: Final = 2 * SECOND
"""Microseconds by which both bounds together may be off: each is of two stamps in whole seconds."""
_USUAL: Final = 0.75
"""Where bounds of one kind are known alone: which of them stands for the distance, by its share."""
ASTRAY: Final = 0.001
"""From this share of a rank's holds on, their times are not what happened."""
_ENDED: Final = ("stop", "length", "tool_calls")


def contradicted(rows: pl.DataFrame) -> bool:
    """Say whether too many holds lie before or after the request that they are of.

    Args:
        rows: requests of one rank with the times of both sides, status and finish reason.
    """
    most = _known(rows, pl.col("reserved_at") - pl.col("received_at"))
    least = _known(rows.filter(ended()), pl.col("released_at") - pl.col("finished_at"))
    known = max(len(most), len(least))
    return bool(known) and _against(most + _SLACK, least) > ASTRAY * known


def ended() -> pl.Expr:
    """Say which answers were sent whole, and ended of themselves."""
    return pl.col("finish_reason").is_in(_ENDED) & pl.col("http_status").is_between(200, 299)


def _known(rows: pl.DataFrame, apart: pl.Expr) -> Ints:
    """Return known values of an expression, sorted."""
    found = rows.select(apart.alias("apart").cast(pl.Int64)).to_series().drop_nulls()
    return np.sort(found.to_numpy())


def _against(most: Ints, least: Ints) -> int:
    """Return how many bounds the best distance of the clocks breaks, of both kinds."""
    most, least = _or_usual(most, least, _USUAL), _or_usual(least, most, 1 - _USUAL)
    tried = np.concatenate([most, least])
    above = np.searchsorted(most, tried, side="left")
    below = len(least) - np.searchsorted(least, tried, side="right")
    return int((above + below).min())


def _or_usual(bounds: Ints, others: Ints, share: float) -> Ints:
    """Return bounds, or where there are none what the others say the distance usually is."""
    if len(bounds):
        return bounds
    return np.full(len(others), np.quantile(others, share)).astype(np.int64)
