"""Co-residency: tenants whose requests ran on a decode rank before a response read its pages.

It names everyone who *could* have written the pages, from the rank's last start to
the read. It is no model of which pages were reused, so its tier is ``possible``
for everyone, and it is never turned into a share or a probability.
"""

from __future__ import annotations

import polars as pl

from forensics.capacity import BEGINNING
from forensics.schema import AFFECTED_TIERS

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


def _residence(requests: pl.DataFrame) -> pl.DataFrame:
    """Requests that ran on a known decode rank, with the rank's start and their own."""
    return requests.select(
        "request_id",
        "attempt",
        "tenant_id",
        "tier",
        "decode_node",
        since=pl.col("decode_since").fill_null(BEGINNING),
        began=pl.coalesce("reserved_at", "handed_off_at", "received_at"),
    ).filter(pl.col("decode_node").is_not_null())


def _read(requests: pl.DataFrame) -> pl.DataFrame:
    return _residence(requests).filter(pl.col("tier").is_in(AFFECTED_TIERS))


def pairs(requests: pl.DataFrame) -> pl.DataFrame:
    """Return one row per affected response and tenant that ran there before it.

    Args:
        requests: judged requests with ``decode_since``, all of them: a rank's pool is
            shared by whatever ran on it, in scope or not.

    Returns:
        :data:`PAIR_COLUMNS` plus ``attempt``, sorted. Responses of unknown decode rank
        have no row.
    """
    rank = ["decode_node", "since"]
    first = (
        _residence(requests)
        .group_by(*rank, pl.col("tenant_id").alias("source_tenant_id"))
        .agg(pl.col("began").min().alias("first"))
    )
    found = (
        _read(requests)
        .select("request_id", "attempt", "tenant_id", *rank, read="began")
        .join(first, on=rank)
        .filter(pl.col("first") < pl.col("read"))
    )
    return found.select(
        "request_id",
        pl.lit(None, dtype=pl.String).alias("source_request_id"),
        "source_tenant_id",
        pl.lit("decode").alias("origin"),
        pl.lit(None, dtype=pl.Int64).alias("pages"),
        pl.lit(None, dtype=pl.Int64).alias("tokens"),
        pl.lit(None, dtype=pl.Float64).alias("probability"),
        pl.lit("possible").alias("tier"),
        (pl.col("source_tenant_id") == pl.col("tenant_id"))
        .fill_null(value=False)
        .alias("same_tenant"),
        "attempt",
    ).sort("request_id", "attempt", "source_tenant_id", nulls_last=False)


def resident_requests(requests: pl.DataFrame) -> pl.DataFrame:
    """Count each tenant's requests that ran on a rank before its last affected response."""
    rank = ["decode_node", "since"]
    last = _read(requests).group_by(rank).agg(pl.col("began").max().alias("last"))
    return (
        _residence(requests)
        .join(last, on=rank)
        .filter(pl.col("began") < pl.col("last"))
        .group_by("tenant_id")
        .agg(pl.len().cast(pl.Int64).alias("requests"))
    )


def unattributed(requests: pl.DataFrame) -> int:
    """Return how many affected responses name no decode rank, so have no sources here."""
    affected = requests.filter(pl.col("tier").is_in(AFFECTED_TIERS))
    return int(affected["decode_node"].null_count())
