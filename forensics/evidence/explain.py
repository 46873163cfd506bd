"""Why a request is in its tier, value by value, from a finished report alone."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import polars as pl
from msgspec import Struct

from forensics.errors import UsageError
from forensics.evidence.beliefs import LOGGED, Seen, believe, stand_in
from forensics.evidence.limit import Limit, in_force
from forensics.evidence.reporttables import EVIDENCE_FILE, PAIRS_FILE, ReportTables
from forensics.evidence.rules import rule_of
from forensics.findings import FINDINGS
from forensics.requests import CLIENT_ANSWER
from forensics.schema import AFFECTED_TIERS
from forensics.verdicts import ORDER

_FINDINGS = {finding.code: finding for finding in FINDINGS}


class Because(Struct, frozen=True):
    """One reason: what the code means, and what it does not prove."""

    code: str
    meaning: str
    does_not_prove: str


class Lacking(Struct, frozen=True):
    """One value that was missing."""

    column: str
    meaning: str


class Value(Struct, frozen=True):
    """One column of the request: what it was judged by, and every value that was logged."""

    column: str
    meaning: str
    judged_by: str | None
    why: str
    seen: list[Seen]


class Sources(Struct, frozen=True):
    """How many tenants are listed as possible sources for the response."""

    other_tenants: int
    same_tenant: bool
    unknown_tenant: bool


class Decided(Struct, frozen=True):
    """The rule that decided, its place in the order, and how many there are."""

    rule: str
    place: int
    of: int


class Explanation(Struct, frozen=True):
    """Everything that a report knows of one request and attempt."""

    request_id: str
    attempt: int
    tenant_id: str | None
    tier: str
    rung: str | None
    decided: Decided | None
    limits: list[Limit]
    reasons: list[Because]
    missing: list[Lacking]
    sources: Sources
    direction: str
    values: list[Value]


def explain(report: ReportTables, request: str) -> list[Explanation]:
    """Explain every attempt of a request, known by any of its ids.

    Raises:
        UsageError: the report's tables do not list it.
    """
    ids = ("request_id", "prefill_request_id", "transfer_id")
    rows = report.requests().filter(pl.any_horizontal(pl.col(name) == request for name in ids))
    if not rows.height:
        raise UsageError(
            "not in this report's tables: never read, or ruled out without being over the "
            "limit, rejected, short or mismatched"
        )
    order = rows.sort("request_id", "tenant_id", "attempt", "transfer_id", nulls_last=False)
    return [_one(report, row) for row in order.iter_rows(named=True)]


def _one(report: ReportTables, row: dict[str, Any]) -> Explanation:
    rule = rule_of(row["reasons"], row["tier"])
    logged, answered_later = _logged(report, row)
    return Explanation(
        request_id=row["request_id"],
        attempt=row["attempt"],
        tenant_id=row["tenant_id"],
        tier=row["tier"],
        rung=row["rung"],
        decided=Decided(rule[1].name, rule[0], len(ORDER)) if rule is not None else None,
        limits=in_force(report.document, row, logged),
        reasons=[_because(code) for code in row["reasons"]],
        missing=[_lacking(name) for name in row["missing"]],
        sources=_sources(report, row),
        direction=report.document["headline"]["direction"],
        values=_values(row, logged, answered_later),
    )


def _because(code: str) -> Because:
    finding = _FINDINGS.get(code)
    if finding is None:
        return Because(code, "a code of another version", "what this version cannot say")
    return Because(code, finding.meaning, finding.does_not_prove)


def _lacking(name: str) -> Lacking:
    column = LOGGED.get(name)
    return Lacking(name, column.meaning if column else "smallest prompt that prefill rejects")


def _sources(report: ReportTables, row: dict[str, Any]) -> Sources:
    """Count the possible sources; the table of pairs knows a response by its id alone."""
    if row["tier"] not in AFFECTED_TIERS:
        return Sources(other_tenants=0, same_tenant=False, unknown_tenant=False)
    pairs = report.table(PAIRS_FILE).filter(pl.col("request_id") == row["request_id"])
    others = pairs.filter(~pl.col("same_tenant"))["source_tenant_id"]
    return Sources(
        other_tenants=others.drop_nulls().n_unique(),
        same_tenant=bool(pairs["same_tenant"].any()),
        unknown_tenant=bool(others.is_null().any()),
    )


def _logged(
    report: ReportTables, row: dict[str, Any]
) -> tuple[dict[str, list[Seen]], set[tuple[str, int]]]:
    """Return what was logged of an attempt by column, and the lines that later ones share."""
    evidence = report.table(EVIDENCE_FILE).filter(
        (pl.col("request_id") == row["request_id"])
        & pl.col("tenant_id").eq_missing(pl.lit(row["tenant_id"], dtype=pl.String))
    )
    later = evidence.filter(pl.col("attempt") > row["attempt"]).select("file", "line")
    answered_later = set(later.iter_rows())
    own = evidence.filter(pl.col("attempt") == row["attempt"])
    logged: dict[str, list[Seen]] = {}
    for name, *seen in own.select("column", "value", "hop", "file", "line").iter_rows():
        logged.setdefault(name, []).append(Seen(*seen))
    return logged, answered_later


def _values(
    row: dict[str, Any], logged: dict[str, list[Seen]], answered_later: set[tuple[str, int]]
) -> list[Value]:
    """Return every column that some hop logged or the request was judged by."""
    known = [name for name in LOGGED if name in logged or row.get(name) is not None]
    return [_value(name, as_logged(row.get(name)), logged, answered_later) for name in known]


def _value(
    name: str,
    judged: str | None,
    logged: dict[str, list[Seen]],
    answered_later: set[tuple[str, int]],
) -> Value:
    seen = logged.get(name, [])
    others = [item for item in seen if (item.file, item.line) in answered_later]
    others = others if name in CLIENT_ANSWER else []
    marked, why = believe(name, [item for item in seen if item not in others], judged)
    if others:
        why += "; what was logged once for all attempts is the answer of the last"
    picked = next((item.value for item in marked if item.believed), judged)
    if judged is not None and not any(item.believed for item in marked):
        why = stand_in(name, judged, logged) or why
    return Value(name, LOGGED[name].meaning, picked, why, [*marked, *others])


def as_logged(value: Any) -> str | None:
    """Return a table's value as evidence has it."""
    if value is None:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
    if isinstance(value, float):
        return str(pl.Series([value]).cast(pl.String)[0])
    return str(value)
