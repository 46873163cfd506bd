"""Canary markers: whose answer held a marker that another request had planted."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from forensics import markertimes, schema
from forensics.clock import Clocks

_IDS = ("request_id", "prefill_request_id", "tenant_id", "earlier")
READ = (*_IDS, *markertimes.READ)
"""What is read of records."""


@dataclass(frozen=True)
class Markers:
    """Canary records; keys of the hand-offs they raise; hits that raise nobody they can name.

    ``unlogged`` hits name no logged request; ``unmatched`` are those, logged or not, whose id
    also names a request of another time, or several: it is not known to be the one.
    """

    records: pl.DataFrame
    foreign: int
    handoffs: pl.Series
    unlogged: int
    unmatched: int


def collect(
    frames: list[pl.DataFrame], observations: pl.DataFrame, clocks: Clocks, far: pl.DataFrame
) -> Markers:
    """Return what the canary records show of the observed requests.

    A tester knows a request by any of its ids, so each hop's id stands for it, where the time
    agrees. A marker is foreign where it was planted by another request, or, where that is not
    stated, by another tenant.

    Args:
        frames: canary records as they were read.
        observations: with what is there of :data:`READ`.
        clocks: offsets of the clocks that wrote times without a zone.
        far: servers whose clock is off (:func:`forensics.skew.far`).
    """
    records = _records(frames, clocks)
    if not records.height:
        none = pl.Series("handoff", [], dtype=observations.schema["handoff"])
        return Markers(records.drop("_marker"), 0, none, 0, 0)
    ids = _ids(records, observations)
    rows = observations.join(ids.select("handoff").unique(), on="handoff", how="semi")
    tenants = rows.group_by("handoff").agg(
        pl.col("tenant_id").drop_nulls().unique().alias("tenants")
    )
    seen = ids.select("handoff", seen_request_id="request_id").unique()
    planted = ids.group_by(planted_request_id="request_id").agg(pl.col("handoff").alias("planted"))
    hits = (
        records.join(seen, on="seen_request_id", how="left")
        .join(planted, on="planted_request_id", how="left")
        .join(tenants, on="handoff", how="left")
    )
    hits = hits.filter(_foreign().fill_null(value=False))
    fitting = markertimes.fitting(hits, rows, far)
    return Markers(
        records.drop("_marker"),
        hits["_marker"].n_unique(),
        fitting["handoff"].unique(),
        hits["_marker"].n_unique() - fitting["_marker"].n_unique(),
        hits.filter(pl.col("handoff").is_not_null())
        .join(fitting, on=["_marker", "handoff"], how="anti")["_marker"]
        .n_unique(),
    )


def _records(frames: list[pl.DataFrame], clocks: Clocks) -> pl.DataFrame:
    """Return each record once, sorted and numbered."""
    names = [column.name for column in schema.MARKER_COLUMNS]
    empty = pl.DataFrame(schema={**schema.dtypes(schema.MARKER_COLUMNS), **schema.ORIGIN})
    every = clocks.resolve(pl.concat([empty, *frames], how="diagonal_relaxed"), ["seen_at"])
    return every.select(names).unique().sort(names, nulls_last=True).with_row_index("_marker")


def _ids(records: pl.DataFrame, observations: pl.DataFrame) -> pl.DataFrame:
    """Return which hand-offs each id that a record names may stand for."""
    last = observations.filter(~pl.col("earlier"))
    ids = last.select("request_id", "handoff")
    if "prefill_request_id" in last.columns:
        ids = pl.concat([ids, last.select(request_id="prefill_request_id", handoff="handoff")])
    wanted = [*records["seen_request_id"].drop_nulls(), *records["planted_request_id"].drop_nulls()]
    return ids.filter(pl.col("request_id").is_in(wanted)).unique()


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
