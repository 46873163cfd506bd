"""Late releases under a room of which no other record speaks: signs of hand-offs, not requests."""

from __future__ import annotations

import polars as pl

_SIGN = "late_release"


def without_orphans(joined: pl.DataFrame) -> tuple[pl.DataFrame, pl.Series]:
    """Return the records without such, and when each of those hand-offs was released.

    The line has a room and nothing else: it tells that pages were given back too early, but
    neither whose nor that anybody was answered.

    Args:
        joined: records with ``handoff`` and ``request_id``.
    """
    if _SIGN not in joined.columns:
        return joined, pl.Series("received_at", dtype=pl.Int64)
    sign = pl.col(_SIGN).fill_null(value=False) & pl.col("request_id").is_null()
    signs = joined.filter(sign)
    others = joined.join(signs.select("handoff"), on="handoff", how="semi").filter(~sign)
    alone = signs.join(others, on="handoff", how="anti")
    alone = alone.group_by("handoff").agg(pl.col("received_at").max())
    left = joined.join(alone, on="handoff", how="anti", maintain_order="left")
    return left.rechunk() if alone.height else joined, alone["received_at"].sort()
