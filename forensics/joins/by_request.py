"""Records without a hand-off's id that join the hand-offs of their request id and tenant."""

from __future__ import annotations

import polars as pl

from forensics.columns import ensure
from forensics.joins.gaps import SESSION_GAP


def by_request(rest: pl.DataFrame, direct: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Attach records to the hand-offs of their request id and tenant.

    Returns:
        The attached records, once for each hand-off they speak for, with ``handoff`` and
        ``earlier`` (all but the last of them); and those that are alone.
    """
    if not rest.height:
        nobody = rest.with_columns(handoff=pl.lit(None, dtype=pl.String))
        return nobody.with_columns(earlier=pl.lit(value=False)), rest
    pairs = _of_its_size(_one_tenant(_pairs(rest, direct)))
    order = ["handoff_at", "handoff"]
    last = pairs.group_by("observation").agg(
        pl.col("handoff").sort_by(order, nulls_last=False).last().alias("last")
    )
    pairs = pairs.join(last, on="observation").with_columns(
        earlier=pl.col("handoff") != pl.col("last")
    )
    attached = rest.join(
        pairs.select("observation", "handoff", "earlier"), on="observation", how="inner"
    )
    alone = rest.join(pairs.select("observation").unique(), on="observation", how="anti")
    return attached, alone


def _pairs(rest: pl.DataFrame, direct: pl.DataFrame) -> pl.DataFrame:
    """Return records with the hand-offs of their id, of no other tenant and near in time."""
    handoffs = (
        ensure(direct, ["decode_prompt_tokens"])
        .join(rest.select("request_id").unique(), on="request_id", how="semi")
        .group_by("request_id", "handoff")
        .agg(
            pl.col("tenant_id").drop_nulls().unique().sort().alias("tenants"),
            pl.col("received_at").min().alias("handoff_at"),
            pl.col("decode_prompt_tokens").max().alias("handoff_size"),
        )
    )
    known = ensure(rest, ["prompt_tokens"])
    pairs = known.select(
        "observation", "request_id", "tenant_id", "received_at", size="prompt_tokens"
    ).join(handoffs, on="request_id", how="inner")
    agrees = (
        pl.col("tenant_id").is_null()
        | (pl.col("tenants").list.len() == 0)
        | pl.col("tenants").list.contains(pl.col("tenant_id"))
    )
    apart = (pl.col("received_at") - pl.col("handoff_at")).abs() > SESSION_GAP
    return pairs.filter(agrees & ~apart.fill_null(value=False))


def _one_tenant(pairs: pl.DataFrame) -> pl.DataFrame:
    """Where records of two tenants claim one hand-off, keep those of the nearest in time."""
    known = pairs.filter(pl.col("tenant_id").is_not_null())
    claimed = known.group_by("handoff").agg(pl.col("tenant_id").n_unique().alias("n"))
    contested = claimed.filter(pl.col("n") > 1)
    if not contested.height:
        return pairs
    distance = (pl.col("received_at") - pl.col("handoff_at")).abs()
    nearest = (
        known.join(contested, on="handoff", how="semi")
        .sort(distance, "tenant_id", nulls_last=True)
        .group_by("handoff")
        .agg(pl.col("tenant_id").first().alias("winner"))
    )
    return (
        pairs.join(nearest, on="handoff", how="left")
        .filter(
            pl.col("winner").is_null()
            | pl.col("tenant_id").is_null()
            | (pl.col("tenant_id") == pl.col("winner"))
        )
        .drop("winner")
    )


def _of_its_size(pairs: pl.DataFrame) -> pl.DataFrame:
    """Part two calls under one id: each record keeps the hand-offs of its own prompt size.

    Only where size settles it on both sides: the record has a hand-off of its size, and the
    other hand-off has a record of its own.
    """
    if not pairs["observation"].is_duplicated().any():
        return pairs
    same = (pl.col("size") == pl.col("handoff_size")).fill_null(value=False)
    other = (pl.col("size") != pl.col("handoff_size")).fill_null(value=False)
    settled = same.any().over("observation") & same.any().over("handoff")
    return pairs.filter(~(other & settled))
