"""Which way data went: who gave it and who received it, by the mechanism of the fault.

A fault that reads makes the request that meets its condition a recipient; the sources ran on
its rank before. A fault that writes makes it a source; the recipients run on its rank from
then on. Where the mechanism is not known, everyone is looked at both ways.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from forensics.findings import FINDINGS
from forensics.schema import AFFECTED_TIERS

WRITES = ("write", "unknown")
"""Mechanisms under which a request may have written into pages of others."""
CO_RESIDENT, UNDELIVERED = "co_resident", "undelivered_write"
BESIDE_UNJUDGED = "beside_unjudged"
SHOWN = tuple(finding.code for finding in FINDINGS if finding.weight == "attested")
"""Reasons of an answer that somebody or something saw foreign data in."""
TRIGGER_CODES = (
    *(finding.code for finding in FINDINGS if finding.weight in ("direct", "traced")),
    *("over_limit", "limit_uncertain", "near_limit"),
)
"""Reasons of a request that meets the condition of the fault, or may meet it."""

Has = Callable[[str], pl.Expr]
"""Says whether a row carries a reason code."""


def flagged(code: str) -> pl.Expr:
    """Return whether a judged row carries a reason."""
    return pl.col(f"is_{code}")


def reasoned(code: str) -> pl.Expr:
    """Return whether a row of a request table carries a reason."""
    return pl.col("reasons").list.contains(code)


def _shown(has: Has) -> pl.Expr:
    return pl.any_horizontal([has(code) for code in SHOWN])


def receives(mechanism: str, has: Has = flagged) -> pl.Expr:
    """Return which listed requests count as recipients of others' data, or may be some."""
    unknown = pl.col("tier") == "not_assessable"
    if mechanism == "write":
        return has(CO_RESIDENT) | _shown(has) | unknown
    if mechanism == "unknown":
        return ~has(UNDELIVERED) | has(CO_RESIDENT) | _shown(has) | unknown
    return pl.lit(value=True)


def received_tier(mechanism: str, has: Has = flagged) -> pl.Expr:
    """Return how sure it is that a recipient received: of a trigger that wrote, never by that."""
    if mechanism != "write":
        return pl.col("tier")
    beside = pl.col("tier").is_in(AFFECTED_TIERS) & ~_shown(has)
    return pl.when(beside).then(pl.lit("possible")).otherwise("tier")


def gives(mechanism: str, has: Has = flagged) -> pl.Expr:
    """Return which listed requests count as sources by what they wrote."""
    if mechanism not in WRITES:
        return pl.lit(value=False)
    meets = pl.any_horizontal([has(code) for code in TRIGGER_CODES])
    return pl.col("tier").is_in(AFFECTED_TIERS) & meets


_SETTLED = "Data of {source} could appear in responses to {recipient}."
_UNSETTLED = (
    "The direction is not settled: data of {source} could appear in responses to {recipient}, "
    "and each tenant is listed for both ways in which the fault may work."
)


def sentence(mechanism: str) -> str:
    """Return the sentence about direction; it is never written by hand."""
    said = _UNSETTLED if mechanism == "unknown" else _SETTLED
    return said.format(
        source="the tenants listed as sources", recipient="the tenants listed as recipients"
    )
