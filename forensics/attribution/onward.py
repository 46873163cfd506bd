"""Co-residency looking forward: who ran on a decode rank while or after somebody wrote there.

The mirror of :mod:`forensics.attribution.coresidency`, for a fault that writes: the request
that meets the condition is the source, and everyone who holds pages on its rank from then on
may have received its data, until the rank starts again.
"""

from __future__ import annotations

import polars as pl

from forensics.attribution import moments
from forensics.attribution.coresidency import PAIR_COLUMNS
from forensics.capacity import BEGINNING, END
from forensics.direction import CO_RESIDENT, TRIGGER_CODES, flagged

_RANK = ["decode_node", "since"]
_KEPT = (*("handoff", "request_id", "attempt", "tenant_id"), *_RANK, "began", "ended")


def wrote(requests: pl.DataFrame) -> pl.Series:
    """Return the hand-offs that met the condition and may have written, delivered or not.

    Args:
        requests: judged requests. One that was refused before it held a page wrote nothing.
    """
    meets = pl.any_horizontal([flagged(code) for code in TRIGGER_CODES])
    listed = pl.col("tier").is_in(["confirmed", "probable", "possible", "not_assessable"])
    found = requests.filter(meets & (listed | _undelivered()))
    return found["handoff"]


def undelivered(requests: pl.DataFrame) -> pl.Series:
    """Return the hand-offs that met the condition and held pages, though nothing was answered."""
    meets = pl.any_horizontal([flagged(code) for code in TRIGGER_CODES])
    return requests.filter(meets & _undelivered())["handoff"]


def _undelivered() -> pl.Expr:
    """Say that only the missing answer rules a request out, and that it held pages."""
    held = (pl.col("stale_pages") > 0) | pl.col("reserved_at").is_not_null()
    out, cleared = flagged("out_of_scope"), flagged("not_disaggregated") | flagged("full_transfer")
    return flagged("not_delivered") & held.fill_null(value=False) & ~out & ~cleared


def beside(requests: pl.DataFrame, writers: pl.Series) -> pl.Series:
    """Return the hand-offs that held pages on a rank from its first write by another on."""
    every = _residence(requests)
    met = _met(every, every.filter(pl.col("handoff").is_in(writers.implode())))
    return met["handoff"].unique()


def pairs(requests: pl.DataFrame) -> pl.DataFrame:
    """Return one row per response that ran beside a write and tenant that wrote.

    Args:
        requests: requests judged a second time, with the flag of those that ran beside.

    Returns:
        The columns of :data:`PAIR_COLUMNS` plus ``attempt`` and ``last_at`` (the tenant's first
        write there), sorted.
    """
    every = _residence(requests)
    exposed = every.join(
        requests.filter(flagged(CO_RESIDENT) & (pl.col("tier") != "ruled_out")).select("handoff"),
        on="handoff",
        how="semi",
    )
    writers = every.filter(pl.col("handoff").is_in(wrote(requests).implode()))
    met = _met(exposed, writers).sort("first", "handoff", "source_tenant_id")
    found = met.unique(["handoff", "source_tenant_id"], keep="first", maintain_order=True)
    same = (pl.col("source_tenant_id") == pl.col("tenant_id")).fill_null(value=False)
    unknown = [name for name in PAIR_COLUMNS if name in ("source_request_id", "probability")]
    unknown += ["pages", "tokens"]
    whole = found.with_columns(
        *(pl.lit(None, dtype=PAIR_COLUMNS[name]).alias(name) for name in unknown),
        origin=pl.lit("decode"),
        tier=pl.lit("possible"),
        same_tenant=same,
    )
    return whole.select(*PAIR_COLUMNS, "attempt", last_at="first").sort(
        "request_id", "attempt", "source_tenant_id", nulls_last=False
    )


def writers(requests: pl.DataFrame) -> pl.DataFrame:
    """Count each tenant's requests that may have written into pages of others."""
    found = requests.filter(pl.col("handoff").is_in(wrote(requests).implode()))
    return found.group_by("tenant_id").agg(pl.len().cast(pl.Int64).alias("requests"))


def _residence(requests: pl.DataFrame) -> pl.DataFrame:
    """Requests that held pages of a known decode rank: from when, and until when at the most."""
    names = requests.columns
    known = [name for name in ("released_at", "finished_at") if name in names]
    rows = requests.with_columns(
        since=pl.col("decode_since").fill_null(BEGINNING),
        began=moments.first(names),
        ended=pl.max_horizontal(moments.last(names), pl.coalesce(*known, pl.lit(END))),
        timeless=moments.timeless(names),
    )
    rows = rows.filter(pl.col("decode_node").is_not_null())
    return pl.concat([rows.select(_KEPT), _any_start(rows).select(_KEPT)])


def _any_start(rows: pl.DataFrame) -> pl.DataFrame:
    """Return requests of which no time is known once more for each start of their rank."""
    starts = rows.filter(pl.col("since") != BEGINNING).select(_RANK).unique(maintain_order=True)
    return rows.filter("timeless").drop("since").join(starts, on="decode_node")


def _met(rows: pl.DataFrame, writers: pl.DataFrame) -> pl.DataFrame:
    """Return each row with each tenant that wrote on its rank before it gave back its pages.

    What a request wrote into its own pages is its own: it meets only writes of others.
    """
    first = (
        writers.sort("began", "handoff")
        .group_by(*_RANK, pl.col("tenant_id").alias("source_tenant_id"), maintain_order=True)
        .agg(
            pl.col("began").first().alias("first"),
            pl.col("handoff").first().alias("by"),
            pl.col("began").get(1, null_on_oob=True).alias("second"),
        )
    )
    other = pl.when(pl.col("by") == pl.col("handoff")).then("second").otherwise("first")
    return rows.join(first, on=_RANK).filter(other <= pl.col("ended"))
