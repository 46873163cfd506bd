"""The smallest prompt that an engine rejects, as it follows from its pool and its window."""

from __future__ import annotations

import polars as pl

SGLANG_RESERVE = 6
"""SGLang rejects at ``min(context - 1, pool - 1) - 5``."""
SGLANG = (pl.col("engine") == "sglang").fill_null(value=False)


def derived(pool: str) -> pl.Expr:
    """Return the limit in tokens; null where the pool is not known.

    Args:
        pool: column of the pool; ``context_tokens`` and ``engine`` stand beside it.
    """
    room = pl.min_horizontal(pool, "context_tokens")
    room = pl.when(pl.col(pool).is_not_null()).then(room)
    return pl.when(SGLANG).then(room - SGLANG_RESERVE).otherwise(room + 1)
