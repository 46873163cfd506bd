"""Do the times of decode agree with those of the client's side: no hold before its request.

A request is received before decode takes pages for it, and an answer that ended of itself is
finished at the front end after decode gave them back. What is against that by more than the
clocks are apart was logged, or changed, wrongly, and so was the order of reuse.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from forensics.attribution.coresidency import SECOND

_SLACK: Final = 2 * SECOND
"""Microseconds by which stamps of two clocks may differ beside their usual distance."""
_USUAL: Final = 0.95
"""Share of the rows that say how far the clocks are apart."""
ASTRAY: Final = 0.001
"""From this share of a rank's holds on, their times are not what happened."""
_ENDED: Final = ("stop", "length", "tool_calls")


def contradicted(rows: pl.DataFrame) -> bool:
    """Say whether too many holds lie before or after the request that they are of.

    Args:
        rows: requests of one rank with the times of both sides, status and finish reason.
    """
    well = pl.col("finish_reason").is_in(_ENDED) & pl.col("http_status").is_between(200, 299)
    early = rows.select(pl.col("received_at") - pl.col("reserved_at")).to_series()
    late = rows.filter(well).select(pl.col("released_at") - pl.col("finished_at")).to_series()
    return _beyond(early) or _beyond(late)


def _beyond(apart: pl.Series) -> bool:
    """Say whether too many values are beyond what the clocks explain."""
    known = apart.drop_nulls()
    if known.is_empty():
        return False
    usual = max(0.0, float(known.quantile(_USUAL) or 0.0))
    return int((known > usual + _SLACK).sum()) > ASTRAY * len(known)
