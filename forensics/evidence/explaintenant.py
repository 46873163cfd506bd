"""What a finished report says of one tenant, in both populations."""

from __future__ import annotations

from typing import Any

import polars as pl
from msgspec import Struct

from forensics.errors import UsageError
from forensics.evidence.explain import as_logged
from forensics.evidence.reporttables import PAIRS_FILE, TENANTS_FILE, ReportTables
from forensics.schema import AFFECTED_TIERS, TIERS


class Listed(Struct, frozen=True):
    """Requests of one tier that the report lists, in order of time."""

    tier: str
    requests: list[str]


class TenantExplanation(Struct, frozen=True):
    """One tenant: its rows as recipient and as source, and its own listed requests.

    ``possible_sources`` counts other tenants that are listed as possible sources for its
    responses, ``responses_of_others`` responses of other tenants for which it is listed. The
    two are never added up; ``direction`` says which way data went.
    """

    tenant_id: str | None
    recipient: dict[str, Any] | None
    source: dict[str, Any] | None
    listed: list[Listed]
    first_at: str | None
    last_at: str | None
    possible_sources: int
    responses_of_others: int
    direction: str


def explain_tenant(report: ReportTables, tenant: str | None) -> TenantExplanation:
    """Return what a report says of a tenant; None stands for requests that name none.

    Raises:
        UsageError: the report's tables do not name it.
    """
    of_tenant = pl.col("tenant_id").eq_missing(pl.lit(tenant, dtype=pl.String))
    rows = report.table(TENANTS_FILE).filter(of_tenant)
    requests = report.requests().filter(of_tenant).sort("received_at", "request_id", "attempt")
    if not rows.height and not requests.height:
        raise UsageError("not in this report's tables: no listed request and no possible source")
    times = requests["received_at"]
    return TenantExplanation(
        tenant_id=tenant,
        recipient=_row(rows, "recipient"),
        source=_row(rows, "source"),
        listed=[
            Listed(tier, requests.filter(pl.col("tier") == tier)["request_id"].to_list())
            for tier in TIERS
            if (requests["tier"] == tier).any()
        ],
        first_at=as_logged(times.min()),
        last_at=as_logged(times.max()),
        possible_sources=_possible_sources(report, requests),
        responses_of_others=_responses_of_others(report, tenant),
        direction=report.document["headline"]["direction"],
    )


def _row(rows: pl.DataFrame, population: str) -> dict[str, Any] | None:
    own = rows.filter(pl.col("population") == population)
    if not own.height:
        return None
    plain = (name for name in own.columns if name not in ("tenant_id", "population"))
    row = own.row(0, named=True)
    times = ("first_at", "last_at")
    return {name: as_logged(row[name]) if name in times else row[name] for name in plain}


def _possible_sources(report: ReportTables, requests: pl.DataFrame) -> int:
    affected = requests.filter(pl.col("tier").is_in(AFFECTED_TIERS))["request_id"]
    pairs = report.table(PAIRS_FILE).filter(
        pl.col("request_id").is_in(affected.implode()) & ~pl.col("same_tenant")
    )
    return pairs["source_tenant_id"].drop_nulls().n_unique()


def _responses_of_others(report: ReportTables, tenant: str | None) -> int:
    named = pl.col("source_tenant_id").eq_missing(pl.lit(tenant, dtype=pl.String))
    pairs = report.table(PAIRS_FILE).filter(named & ~pl.col("same_tenant"))
    return pairs["request_id"].n_unique()
