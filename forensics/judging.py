"""Verdicts of all requests, and whose data may have gone where, by the mechanism of the fault.

A fault that writes is judged twice: who ran beside a write is known only once it is known who
met the condition.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl
from msgspec import structs

from forensics import verdicts
from forensics.attribution import coresidency, onward
from forensics.direction import SHOWN, TRIGGER_CODES, UNDELIVERED, WRITES, flagged
from forensics.incident import Incident
from forensics.schema import AFFECTED_TIERS

_PAIR = ("request_id", "attempt", "origin", "source_tenant_id", "source_request_id")


@dataclass(frozen=True)
class Judged:
    """Requests with their verdicts; pairs of response and possible source; residents by tenant."""

    requests: pl.DataFrame
    pairs: pl.DataFrame
    resident: pl.DataFrame


def judge(requests: pl.DataFrame, incident: Incident, marked: pl.Series) -> pl.DataFrame:
    """Return the requests with their verdicts; see :func:`forensics.verdicts.judge`."""
    first = verdicts.judge(requests, incident, marked)
    if incident.trigger.mechanism not in WRITES:
        return first
    beside = onward.beside(first, onward.wrote(first))
    undelivered = onward.undelivered(first)
    # A length clears nobody of having received what was written, but of having written.
    reading = structs.replace(incident.trigger, mechanism="read")
    as_read = verdicts.judge(requests, structs.replace(incident, trigger=reading), marked)
    open_ = onward.unjudged(as_read)
    unjudged = onward.beside(first, open_)
    flagged = requests.with_columns(
        ran_beside_write=pl.col("handoff").is_in(beside.implode()),
        ran_beside_unjudged=pl.col("handoff").is_in(unjudged.implode()),
        wrote_undelivered=pl.col("handoff").is_in(undelivered.implode()),
    )
    names = [name for name in flagged.columns if name not in requests.columns]
    judged = verdicts.judge(flagged, incident, marked).drop(names)
    return judged.with_columns(pl.col("handoff").is_in(open_.implode()).alias(onward.UNJUDGED))


def in_spite_of_length(judged: pl.DataFrame) -> pl.DataFrame:
    """Return the requests below the limit whose counts show that pages of theirs were not written.

    Where a hop logs no requests nothing would show the same of others. When they came, and whether
    in the window, makes no difference to that.
    """
    counted = flagged("short_transfer") | flagged("placeholder_prefill")
    doubt = flagged("delivery_unknown") | flagged("joined_by_inference")
    affected = pl.col("tier").is_in(AFFECTED_TIERS)
    return judged.filter(flagged("below_limit") & counted & ~doubt & affected)


def populations(rows: pl.DataFrame, incident: Incident) -> Judged:
    """Return who may have been read by judged requests: looking back, forward, or both ways."""
    mechanism = incident.trigger.mechanism
    reading = rows if mechanism not in WRITES else rows.with_columns(tier=as_reader())
    read = Judged(rows, coresidency.pairs(reading), coresidency.resident_requests(reading))
    if mechanism == "read":
        return read
    wrote = Judged(rows, onward.pairs(rows), onward.writers(rows))
    return wrote if mechanism == "write" else _both(read, wrote)


def _both(read: Judged, wrote: Judged) -> Judged:
    """Return the pairs of either way, once each; of residents and writers the larger number.

    Where the direction is not settled, what a request wrote makes no source more than possible.
    """
    sure = pl.col("tier").is_in(AFFECTED_TIERS)
    written = wrote.pairs.with_columns(
        tier=pl.when(sure).then(pl.lit("possible")).otherwise("tier")
    )
    every = pl.concat([read.pairs, written], how="diagonal_relaxed")
    pairs = every.sort(every.columns, nulls_last=False).unique(_PAIR, keep="first")
    pairs = pairs.sort(*_PAIR, nulls_last=False)
    counts = pl.concat([read.resident, wrote.resident])
    most = counts.group_by("tenant_id").agg(pl.col("requests").max())
    return Judged(read.requests, pairs, most)


def as_reader() -> pl.Expr:
    """Tiers of a fault that reads: that a request ran beside a write is no sign of it."""
    meets = pl.any_horizontal([flagged(code) for code in (*TRIGGER_CODES, *SHOWN)])
    return pl.when(meets & ~flagged(UNDELIVERED)).then("tier").otherwise(pl.lit("ruled_out"))
