"""Co-residency looking forward: who ran on a decode rank while or after somebody wrote there.

The mirror of :mod:`forensics.attribution.coresidency`, for a fault that writes: the request
that meets the condition is the source, and everyone who holds pages on its rank from then on
may have received its data, until the rank starts again.
"""

from __future__ import annotations

from collections.abc import Collection

import polars as pl

from forensics.attribution import moments, places, ranks
from forensics.attribution.pairing import PAIR_COLUMNS
from forensics.attribution.refusals import at_the_door
from forensics.capacity import BEGINNING, END
from forensics.direction import BESIDE_UNJUDGED, CO_RESIDENT, TRIGGER_CODES, flagged
from forensics.findings import FINDINGS
from forensics.schema import AFFECTED_TIERS

UNJUDGED = "wrote_unjudged"
"""Column of the requests of which it is not known whether they met the condition of a write."""
_RANK = ["decode_node", "since"]
_OF_REQUEST = ("handoff", "request_id", "attempt", "tenant_id", "tier", "several")
_KEPT = (*_OF_REQUEST, *_RANK, "began", "ended")


def wrote(requests: pl.DataFrame) -> pl.Series:
    """Return the hand-offs that met the condition and may have written, delivered or not.

    Args:
        requests: judged requests. One that was refused before it held a page wrote nothing.
    """
    meets = pl.any_horizontal([flagged(code) for code in TRIGGER_CODES])
    listed = pl.col("tier").is_in(["confirmed", "probable", "possible", "not_assessable"])
    found = requests.filter(meets & (listed | _undelivered(requests.columns)))
    return found["handoff"]


def undelivered(requests: pl.DataFrame) -> pl.Series:
    """Return the hand-offs that held pages and may have met the condition, unanswered.

    Where a log lost its record of one, whether it met the condition is not known.
    """
    meets = pl.any_horizontal([flagged(code) for code in (*TRIGGER_CODES, "log_gap")])
    return requests.filter(meets & _undelivered(requests.columns))["handoff"]


def unjudged(requests: pl.DataFrame) -> pl.Series:
    """Return the hand-offs that held pages and of which it is not known whether they met it.

    Args:
        requests: judged as of a fault that reads, where a known length and limit clear them.
    """
    meets = pl.any_horizontal([flagged(code) for code in TRIGGER_CODES])
    cleared = pl.any_horizontal([flagged(code) for code in _CLEARED])
    names = requests.columns
    unanswered = _undelivered(names) & ~cleared
    undecided = (pl.col("tier") == "not_assessable") | unanswered
    return requests.filter(undecided & ~meets & ~_held_none(names))["handoff"]


def _unjudged(requests: pl.DataFrame) -> pl.Series:
    """Return those that :func:`unjudged` found before the requests were judged a second time."""
    return requests.filter(UNJUDGED)["handoff"]


_CLEARED = ("below_limit", *(one.code for one in FINDINGS if one.weight == "clears"))


def astray(requests: pl.DataFrame) -> int:
    """Return how many hand-offs may have written on a decode rank that no log names."""
    nowhere = requests.filter(pl.col("decode_node").is_null())
    return len(wrote(nowhere))


def _undelivered(columns: Collection[str]) -> pl.Expr:
    """Say that only the missing answer rules a request out, and that it may have held pages."""
    out, cleared = flagged("out_of_scope"), flagged("not_disaggregated") | flagged("full_transfer")
    return flagged("not_delivered") & ~_held_none(columns) & ~out & ~cleared


def _held_none(columns: Collection[str]) -> pl.Expr:
    """Say of which requests it is shown that decode gave them no page.

    They were refused at the door, or decode's own record says so. What a lost record would have
    said is not known: where it is missing, nothing is shown.
    """
    nodes = [name for name in ("prefill_node", "decode_node") if name in columns]
    unseen = pl.all_horizontal(pl.lit(value=True), *(pl.col(name).is_null() for name in nodes))
    return _never_reserved(columns) | (at_the_door(columns) & unseen)


def _never_reserved(columns: Collection[str]) -> pl.Expr:
    """Say where decode's record is held and names no reservation, as others of its rank do."""
    known = {"decode_prompt_tokens", "reserved_at", "reserved_pages"} <= set(columns)
    if not known:
        return pl.lit(value=False)
    told = pl.col("reserved_at").is_not_null().any().over("decode_node")
    silent = pl.col("reserved_at").is_null() & pl.col("reserved_pages").is_null()
    held = pl.col("decode_prompt_tokens").is_not_null()
    return (pl.col("reserved_pages") == 0).fill_null(value=False) | (held & silent & told)


def beside(requests: pl.DataFrame, writers: pl.Series) -> pl.Series:
    """Return the hand-offs that held pages on a rank from its first write by another on."""
    every = _residence(requests).with_columns(tenant_id=pl.lit(None, dtype=pl.String))
    met = _met(every, every.filter(pl.col("handoff").is_in(writers.implode())))
    return met["handoff"].unique()


def pairs(requests: pl.DataFrame) -> pl.DataFrame:
    """Return one row per response that ran beside a write and tenant that wrote.

    Args:
        requests: requests judged a second time, with the flag of those that ran beside.

    Returns:
        The columns of :data:`PAIR_COLUMNS` plus ``attempt`` and ``last_at`` (the tenant's first
        write there), sorted. A source is ``probable`` where a request of it that met the
        condition is, on a rank that is known as that of the response: what it wrote there is the
        source's part, who held the pages the response's. It is ``not_assessable`` where all that is
        known of it is a request of which nobody can say whether it met the condition.
    """
    every = _residence(requests)
    beside = flagged(CO_RESIDENT) | flagged(BESIDE_UNJUDGED)
    listed = requests.filter(beside & (pl.col("tier") != "ruled_out")).select("handoff")
    exposed = every.join(listed, on="handoff", how="semi")
    writers = every.filter(pl.col("handoff").is_in(wrote(requests).implode()))
    met = _met(exposed, writers).sort("first", "handoff", "source_tenant_id")
    sure = pl.col("sure").any().over("handoff", "source_tenant_id") & ~pl.col("several")
    tier = pl.when(sure).then(pl.lit("probable")).otherwise(pl.lit("possible"))
    open_ = _met(exposed, every.filter(pl.col("handoff").is_in(_unjudged(requests).implode())))
    open_ = open_.sort("first", "handoff", "source_tenant_id").with_columns(
        tier=pl.lit("not_assessable")
    )
    found = pl.concat([met.with_columns(tier=tier), open_]).unique(
        ["handoff", "source_tenant_id"], keep="first", maintain_order=True
    )
    same = (pl.col("source_tenant_id") == pl.col("tenant_id")).fill_null(value=False)
    unknown = [name for name in PAIR_COLUMNS if name in ("source_request_id", "probability")]
    unknown += ["pages", "tokens"]
    whole = found.with_columns(
        *(pl.lit(None, dtype=PAIR_COLUMNS[name]).alias(name) for name in unknown),
        origin=pl.lit("decode"),
        same_tenant=same,
    )
    return whole.select(*PAIR_COLUMNS, "attempt", last_at="first").sort(
        "request_id", "attempt", "source_tenant_id", nulls_last=False
    )


def writers(requests: pl.DataFrame) -> pl.DataFrame:
    """Count each tenant's requests that may have written into pages of others."""
    both = pl.concat([wrote(requests), _unjudged(requests)])
    found = requests.filter(pl.col("handoff").is_in(both.implode()))
    return found.group_by("tenant_id").agg(pl.len().cast(pl.Int64).alias("requests"))


def _residence(requests: pl.DataFrame) -> pl.DataFrame:
    """Requests that may have held pages of a decode rank: from when, until when at the most."""
    names = requests.columns
    known = [name for name in ("released_at", "finished_at") if name in names]
    rows = places.on_each(requests).with_columns(
        decode_node="node",
        several=places.several(names),
        began=moments.first(names),
        ended=pl.max_horizontal(moments.last(names), pl.coalesce(*known, pl.lit(END))),
        timeless=moments.timeless(names),
    )
    nowhere = pl.col("decode_node").is_null()
    rows = rows.filter(~(nowhere & (_held_none(names) | flagged("not_disaggregated"))))
    every = pl.concat([rows.select(_KEPT), _any_start(rows).select(_KEPT)])
    return ranks.with_server(every, "decode_node")


def _any_start(rows: pl.DataFrame) -> pl.DataFrame:
    """Return requests of which no time is known once more for each start of their rank."""
    starts = rows.filter(pl.col("since") != BEGINNING).select(_RANK).unique(maintain_order=True)
    return rows.filter("timeless").drop("since").join(starts, on="decode_node")


def _met(rows: pl.DataFrame, writers: pl.DataFrame) -> pl.DataFrame:
    """Return each row with each tenant that may have written where it held pages.

    On its rank, or anywhere where the rank of either is not known: on any of its server where that
    is.
    """
    sure = pl.col("tier").is_in(AFFECTED_TIERS[:2]) & ~pl.col("several")
    writers = writers.with_columns(sure=sure)
    nowhere, alone = pl.col("decode_node").is_null(), pl.col("alone")
    placed = writers.filter(~nowhere)
    found = [
        _after(rows.filter(~nowhere), placed, _RANK),
        _after(rows.filter(alone), placed, ["server"]),
        _after(rows.filter(~nowhere), placed.filter(alone), ["server"]),
        _after(rows, writers.filter(nowhere), []),
        _after(rows.filter(nowhere), placed, []),
    ]
    return pl.concat(found)


def _after(rows: pl.DataFrame, writers: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Return each row with each tenant that wrote before it gave back its pages.

    What a request wrote into its own pages is its own: it meets only writes of others.
    """
    first = (
        writers.sort("began", "handoff")
        .group_by(*by, "sure", pl.col("tenant_id").alias("source_tenant_id"), maintain_order=True)
        .agg(
            pl.col("began").first().alias("first"),
            pl.col("handoff").first().alias("by"),
            pl.col("began").get(1, null_on_oob=True).alias("second"),
        )
    )
    other = pl.when(pl.col("by") == pl.col("handoff")).then("second").otherwise("first")
    met = rows.join(first, on=by) if by else rows.join(first, how="cross")
    return met.filter(other <= pl.col("ended")).select(*_KEPT, "source_tenant_id", "sure", "first")
