"""Whether the time of a canary record is that of the request whose id it names.

Ids are used again: by a client that counts from one, by a server that restarts. What a marker
confirms is the request of that id *and* time; a record without a time confirms by its id alone
where only one request has it.
"""

from __future__ import annotations

import polars as pl

from forensics.clock import ZONE_UNCERTAINTY
from forensics.columns import ensure

APART = 60_000_000
"""A record and a request so many microseconds apart do not belong together."""
_BEGINS = ("received_at", "reserved_at")
_ENDS = ("received_at", "finished_at", "reserved_at", "released_at")
READ = ("observation", "request_id", *_ENDS, "prefill_node", "decode_node", "assumed", "hop")
"""What is read of records."""


def fitting(hits: pl.DataFrame, rows: pl.DataFrame, far: pl.DataFrame) -> pl.DataFrame:
    """Return ``_marker`` and ``handoff`` of the hits whose time is that of the request.

    Args:
        hits: canary records with the ``handoff`` that their id may stand for and its ``tenants``.
        rows: observations of these hand-offs.
        far: servers whose clock is off, with ``margin``.
    """
    named = hits.filter(pl.col("handoff").is_not_null())
    if not named.height:
        return named.select("_marker", "handoff")
    rows = ensure(rows, [*_ENDS, "prefill_node", "decode_node", "assumed", "hop"])
    told = _testers_own(named, rows)
    times = _times(named, rows, told, far)
    found = named.join(times, on=["_marker", "handoff"], how="left")
    found = found.filter(_near().fill_null(value=True))
    return _told_apart(found, told).select("_marker", "handoff").unique()


def _testers_own(named: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the tester's own records of the requests: they say nothing of another's clock.

    Such a record is the gateway's of that id, with the very time of the marker's.
    """
    client = rows.filter(pl.col("hop") == "gateway")
    own = client.join(
        named.select("_marker", "handoff", "seen_request_id", "seen_at"),
        left_on=["handoff", "request_id", "received_at"],
        right_on=["handoff", "seen_request_id", "seen_at"],
    )
    return own.select("_marker", "handoff", "observation", seen_end="finished_at")


def _times(
    named: pl.DataFrame, rows: pl.DataFrame, told: pl.DataFrame, far: pl.DataFrame
) -> pl.DataFrame:
    """Return when others saw each hand-off begin and end, and by how much they may be wrong."""
    pairs = named.select("_marker", "handoff").unique()
    others = pairs.join(rows, on="handoff").join(
        told, on=["_marker", "handoff", "observation"], how="anti"
    )
    margin = pl.max_horizontal(_margin("prefill_node", far), _margin("decode_node", far))
    zone = pl.when(pl.col("assumed").fill_null(value=False)).then(ZONE_UNCERTAINTY).otherwise(0)
    times = others.group_by("_marker", "handoff").agg(
        pl.min_horizontal(_BEGINS).min().alias("begin"),
        pl.max_horizontal(_ENDS).max().alias("end"),
        (APART + margin + zone).max().alias("slack"),
    )
    ends = told.group_by("_marker", "handoff").agg(pl.col("seen_end").max())
    return times.join(ends, on=["_marker", "handoff"], how="left")


def _margin(column: str, far: pl.DataFrame) -> pl.Expr:
    servers = pl.col(column).cast(pl.String).str.replace(r"/[^/]*$", "")
    off = dict(far.iter_rows())
    return servers.replace_strict(
        list(off) or [""], list(off.values()) or [0], default=0, return_dtype=pl.Int64
    ).fill_null(0)


def _near() -> pl.Expr:
    """Say whether record and request overlap; null where either has no time."""
    until = pl.max_horizontal("seen_at", pl.col("seen_end").fill_null(pl.col("seen_at")))
    early, late = pl.col("begin") - until, pl.col("seen_at") - pl.col("end")
    return pl.max_horizontal(early, late) <= pl.col("slack")


def _told_apart(found: pl.DataFrame, told: pl.DataFrame) -> pl.DataFrame:
    """Leave out the records that fit several requests, unless the tester's own names the one."""
    own = told.select("_marker", "handoff").unique().with_columns(own=pl.lit(value=True))
    found = found.join(own, on=["_marker", "handoff"], how="left")
    known = pl.col("own").any().over("_marker").fill_null(value=False)
    found = found.filter(pl.col("own") | ~known)
    span = pl.col("begin").max().over("_marker") - pl.col("begin").min().over("_marker")
    undated = pl.col("seen_at").is_null() & (span > APART).fill_null(value=False)
    tenants = pl.col("tenants").list.sort().list.join("\x1f").n_unique().over("_marker")
    return found.filter(~undated & (tenants == 1))
