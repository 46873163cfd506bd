"""Records of a pool that the engine's own figures deny: tokens in use beside the share they are.

Another pool than before is of another start. Not so where shares of the time of such a record
are of another size: then the record is wrong, or of another rank, and shows no start.
"""

from __future__ import annotations

import polars as pl

ROUNDING = 0.005_001
"""Shares of the pool are printed to two decimals."""
MISFIT = 0.001
"""From this share of figures that differ on, the records and the engine disagree."""


def by_rank(figures: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Return ``at``, ``used_tokens`` and ``usage`` where both are known of one moment, by rank.

    Args:
        figures: of :func:`forensics.attribution.usage.figures`.
    """
    both = figures.filter(pl.col("lasts") <= 1_000_000).drop_nulls(["used_tokens", "usage"])
    both = both.select("node", "at", "used_tokens", "usage").sort("node", "at")
    parts = both.partition_by("node", as_dict=True, include_key=False)
    return {str(node): part for (node,), part in parts.items()}


def moments(own: pl.DataFrame, figures: pl.DataFrame | None) -> set[int]:
    """Return when records were told that figures from then on, to the next record, deny.

    Args:
        own: capacity records of one rank, in order of ``effective_at``.
        figures: of the same rank, of :func:`by_rank`.
    """
    if figures is None:
        return set()
    pools = own.select("effective_at", "pool_tokens", page=pl.col("page_tokens").fill_null(1))
    held = figures.join_asof(pools, left_on="at", right_on="effective_at")
    share, pool = pl.col("usage"), pl.col("pool_tokens")
    # What is left of the pool beside whole pages counts in the engine's share.
    fits = pl.col("used_tokens").is_between(
        (share - ROUNDING) * pool, (share + ROUNDING) * (pool + pl.col("page"))
    )
    off = held.drop_nulls(["effective_at", "pool_tokens"]).group_by("effective_at")
    found = off.agg((~fits).mean().alias("off")).filter(pl.col("off") > MISFIT)
    return set(found["effective_at"].to_list())
