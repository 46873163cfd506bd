"""Requests that other hops prove and of which a log that was kept holds no record.

Where a hop's logs hold nearly every request of its neighbours, one that they lack was lost, and
what the lost record would have shown is not known: a prompt below the limit then clears nobody.
Where a hop's logs hold few of them (one node's of four were given), a missing record says
nothing; but an hour without any record of the hop, amid hours that have some, is a hole all the
same. So is the hour next to the first and the last record: logs end in the middle of one. And so
is the record of one of two hand-offs under one number, where the hop logged the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from forensics.activity import HOUR
from forensics.requests import JOINED
from forensics.schema import ENGINE_HOP, HOPS

KEPT = 0.9
"""Share of the neighbours' requests from which on a hop's logs count as kept."""
SPEAKS_FOR = {
    "gateway": ("gateway", JOINED),
    "prefill": ("prefill", JOINED, ENGINE_HOP),
    "decode": ("decode", JOINED, ENGINE_HOP),
}
"""Hops whose records stand for one of each hop: a joined record speaks for the whole request."""
LACKS: dict[str, pl.DataType] = {
    "handoff": pl.UInt32(),
    "hop": pl.String(),
    "hour": pl.Int64(),
}


@dataclass(frozen=True)
class Holes:
    """Requests in holes, one row per request and hop that lacks a record, and shares kept.

    ``lacking``: handoff, hop, hour (µs). ``shares``: hop, the median share of the neighbours'
    requests that the hop's logs hold in an hour, and from which hour to which they reach.
    """

    lacking: pl.DataFrame
    shares: pl.DataFrame

    @property
    def handoffs(self) -> pl.Series:
        """Keys of the requests in any hole."""
        return self.lacking["handoff"].unique()


def find(requests: pl.DataFrame, observed: pl.DataFrame) -> Holes:
    """Return the requests that a hop's logs should hold and do not.

    Args:
        requests: folded requests with ``handoff``, ``received_at`` and ``handed_off_at``.
        observed: their records with ``handoff``, ``hop`` and ``received_at``.
    """
    rows = _seen(requests, observed)
    found, shares = [pl.DataFrame(schema=LACKS)], []
    for hop in HOPS:
        hours = _hours(observed, hop)
        if not hours.len():
            continue
        first, last = int(hours.min()), int(hours.max())  # type: ignore[arg-type]
        within = rows.filter(
            _expected(hop) & pl.col("hour").is_between(first - HOUR, last + HOUR)
        ).select("handoff", "hour", has=f"has_{hop}")
        share = _usual(within)
        shares.append((hop, share, first, last))
        lost = within.filter(~pl.col("has"))
        if share < KEPT:
            beside = _beside(requests, rows, hop)
            kept = pl.col("handoff").is_in(beside.implode())
            lost = lost.filter(~pl.col("hour").is_in(hours.implode()) | kept)
        found.append(lost.select("handoff", pl.lit(hop).alias("hop"), "hour"))
    schema = {"hop": pl.String, "share": pl.Float64, "first_hour": pl.Int64, "last_hour": pl.Int64}
    return Holes(
        pl.concat(found).sort("handoff", "hop"), pl.DataFrame(shares, schema=schema, orient="row")
    )


_ROOM = r"^[0-9]{1,19}$"
"""A hand-off's own number: a trace, which spans several calls, has another form."""


def _beside(requests: pl.DataFrame, rows: pl.DataFrame, hop: str) -> pl.Series:
    """Return the requests that share their hand-off's number with one that a hop logged.

    One record of two uses of a number was kept: the other was written to a log that was, too.
    """
    twice = requests.filter(requests["transfer_id"].is_duplicated())
    twice = twice.filter(pl.col("transfer_id").str.contains(_ROOM)).select("handoff", "transfer_id")
    if hop == "gateway" or not twice.height:
        return twice["handoff"].clear()
    logged = twice.join(rows.filter(f"has_{hop}"), on="handoff", how="semi")
    return twice.join(logged, on="transfer_id", how="semi")["handoff"]


def _seen(requests: pl.DataFrame, observed: pl.DataFrame) -> pl.DataFrame:
    """Return each request with its hour, the hops that logged it, and whether it was refused."""
    hops = observed.group_by("handoff").agg(
        pl.col("hop").is_in(list(speakers)).any().alias(f"has_{hop}")
        for hop, speakers in SPEAKS_FOR.items()
    )
    known = [name for name in ("http_status", "completion_tokens") if name in requests.columns]
    whole = requests.select("handoff", "received_at", "handed_off_at", *known)
    absent = [name for name in ("http_status", "completion_tokens") if name not in known]
    whole = whole.with_columns(pl.lit(None, dtype=pl.Int64).alias(name) for name in absent)
    refused = (pl.col("http_status") >= 400) & (pl.col("completion_tokens").fill_null(0) == 0)
    at = pl.coalesce("handed_off_at", "received_at")
    rows = whole.select("handoff", hour=at // HOUR * HOUR, refused=refused.fill_null(value=False))
    return rows.join(hops, on="handoff").filter(pl.col("hour").is_not_null())


def _expected(hop: str) -> pl.Expr:
    """Say which requests a hop must have logged: a gateway's refusal reaches no engine."""
    if hop == "gateway":
        return pl.lit(value=True)
    engines = pl.col("has_prefill") | pl.col("has_decode")
    return engines | ~pl.col("refused")


def _hours(observed: pl.DataFrame, hop: str) -> pl.Series:
    """Return the hours in which any node of a hop logged a request."""
    own = observed.filter((pl.col("hop") == hop) & pl.col("received_at").is_not_null())
    return (own["received_at"] // HOUR * HOUR).unique()


def _usual(within: pl.DataFrame) -> float:
    """Return the share of requests that the hop holds in its middle hour."""
    by_hour = within.group_by("hour").agg(pl.col("has").mean())
    middle = by_hour["has"].median()
    return 0.0 if middle is None else float(middle)  # type: ignore[arg-type]


def attach(requests: pl.DataFrame, holes: Holes) -> pl.DataFrame:
    """Flag the requests in holes; without any the frame is returned as it is."""
    if not holes.lacking.height:
        return requests
    return requests.with_columns(in_a_hole=pl.col("handoff").is_in(holes.handoffs.implode()))
