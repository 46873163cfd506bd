"""Pairs of an affected response and who may have written what it read: columns, order, batches."""

from __future__ import annotations

import polars as pl

PAIR_COLUMNS: dict[str, pl.DataType] = {
    "request_id": pl.String(),
    "source_request_id": pl.String(),
    "source_tenant_id": pl.String(),
    "origin": pl.String(),
    "pages": pl.Int64(),
    "tokens": pl.Int64(),
    "probability": pl.Float64(),
    "tier": pl.String(),
    "same_tenant": pl.Boolean(),
}
PAIR_ORDER = (
    *("request_id", "attempt", "origin", "source_tenant_id", "source_request_id"),
    *("pages", "tokens", "probability", "tier", "same_tenant"),
)
PAIRS_AT_ONCE = 500_000


def as_pairs(found: pl.DataFrame, origin: str, tier: str = "possible") -> pl.DataFrame:
    """Return pairs of response and tenant under the columns of the table and one tier."""
    same = (pl.col("source_tenant_id") == pl.col("tenant_id")).fill_null(value=False)
    values = {
        "source_request_id": pl.lit(None),
        "origin": pl.lit(origin),
        "pages": pl.lit(None),
        "tokens": pl.lit(None),
        "probability": pl.lit(None),
        "tier": pl.lit(tier),
        "same_tenant": same,
    }
    named = found.with_columns(
        value.cast(PAIR_COLUMNS[name]).alias(name) for name, value in values.items()
    )
    return named.select(*PAIR_COLUMNS, "attempt")


def batches(read: pl.DataFrame, tenants: int) -> list[pl.DataFrame]:
    """Return responses in order of their ids, so many at once as make :data:`PAIRS_AT_ONCE`.

    Args:
        read: responses with ``request_id``, ``attempt`` and ``_row``; no id is in two batches.
        tenants: with which each response may be paired, at the most.
    """
    ordered = read.sort("request_id", "attempt", "_row")
    ids = max(1, PAIRS_AT_ONCE // max(tenants, 1))
    batch = (pl.col("request_id").rle_id() // ids).alias("_batch")
    return ordered.with_columns(batch).partition_by(
        "_batch", maintain_order=True, include_key=False
    )


def sort(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return pairs in order of :data:`PAIR_ORDER`."""
    return pairs.sort(PAIR_ORDER, nulls_last=False)
