"""Canary markers: whose answer held a marker that another request had planted."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from forensics import schema


@dataclass(frozen=True)
class Markers:
    """Canary records; keys of the hand-offs they raise; hits that name no logged request."""

    records: pl.DataFrame
    foreign: int
    handoffs: pl.Series
    unlogged: int


def collect(frames: list[pl.DataFrame], observations: pl.DataFrame) -> Markers:
    """Return what the canary records show of the observed requests.

    A tester knows a request by any of its ids, so each hop's id stands for it. A marker is
    foreign where it was planted by another request, or, where that is not
    stated, by another tenant.
    """
    empty = pl.DataFrame(schema=schema.dtypes(schema.MARKER_COLUMNS))
    records = pl.concat([empty, *frames], how="diagonal_relaxed").select(empty.columns).unique()
    records = records.sort(empty.columns, nulls_last=True).with_row_index("_marker")
    last = observations.filter(~pl.col("earlier"))
    ids = last.select("request_id", "handoff")
    if "prefill_request_id" in last.columns:
        ids = pl.concat([ids, last.select(request_id="prefill_request_id", handoff="handoff")])
    wanted = [*records["seen_request_id"].drop_nulls(), *records["planted_request_id"].drop_nulls()]
    ids = ids.filter(pl.col("request_id").is_in(wanted)).unique()
    tenants = (
        observations.join(ids.select("handoff").unique(), on="handoff", how="semi")
        .group_by("handoff")
        .agg(pl.col("tenant_id").drop_nulls().unique().alias("tenants"))
    )
    seen = ids.select("handoff", seen_request_id="request_id").unique()
    planted = ids.group_by(planted_request_id="request_id").agg(pl.col("handoff").alias("planted"))
    hits = (
        records.join(seen, on="seen_request_id", how="left")
        .join(planted, on="planted_request_id", how="left")
        .join(tenants, on="handoff", how="left")
    )
    hits = hits.filter(_foreign().fill_null(value=False))
    return Markers(
        records.drop("_marker"),
        hits["_marker"].n_unique(),
        hits["handoff"].drop_nulls().unique(),
        hits.filter(pl.col("handoff").is_null())["_marker"].n_unique(),
    )


def _foreign() -> pl.Expr:
    own = (pl.col("planted_request_id") == pl.col("seen_request_id")) | pl.col(
        "planted"
    ).list.contains(pl.col("handoff")).fill_null(value=False)
    another = pl.col("tenants").list.len() > 0
    another = another & ~pl.col("tenants").list.contains(pl.col("planted_tenant"))
    return (
        # Seen in an answer without an id, as error bodies are: a hit of nobody knows whom.
        pl.when(pl.col("seen_request_id").is_null())
        .then(pl.col("seen_at").is_not_null())
        .when(pl.col("planted_request_id").is_not_null())
        .then(~own)
        .otherwise(pl.col("planted_tenant").is_not_null() & another)
    )
