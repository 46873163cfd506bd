"""The report's tables: which rows of the document, which fields, under which headers.

Rows are in the order of the document, except tenants, which stand by how sure and how
many.
"""

from __future__ import annotations

from typing import Any, Final

from forensics.exposure import Exposure, Tenant
from forensics.report import (
    boundstables,
    casetables,
    coveragetables,
    isolationtables,
    sourcestables,
    timingtables,
)
from forensics.report.spec import Column, Spec, Table, count
from forensics.schema import TIERS


def weight(tenant: Tenant) -> tuple[Any, ...]:
    """Sort key of tenants: surest tier first, then the larger counts, then the id."""
    rank = TIERS.index(tenant.tier) if tenant.tier in TIERS else len(TIERS)
    counts = (tenant.n_confirmed, tenant.n_probable, tenant.n_possible, tenant.n_not_assessable)
    return (rank, *(-count for count in counts), tenant.tenant_id is None, tenant.tenant_id or "")


_DAY: Final = Column("Day (UTC)", "day")
_NODE: Final = Column("Node", "node", "id")
_TIER: Final = Column("Tier", "tier", "tier")
_REQUESTS: Final = count("Requests", "requests")
_MEANING: Final = Column("Meaning", "meaning")
_LOW: Final = count("Prompt length from (tokens)", "low_tokens")

_TENANT: Final = (
    Column("Tenant", "tenant_id", "tenant"),
    Column("Highest tier", "tier", "tier"),
    count("Confirmed", "n_confirmed"),
    count("Probable", "n_probable"),
    count("Possible", "n_possible"),
    count("Not assessable", "n_not_assessable"),
    _REQUESTS,
    count("Responses", "responses"),
)
_TENANT_TIMES: Final = (
    Column("First (UTC)", "first_at", "time"),
    Column("Last (UTC)", "last_at", "time"),
    Column("Own only", "same_tenant_only"),
)

_REQUEST_TABLES: Final = (
    Spec(
        "funnel",
        "Steps from all requests to delivered responses",
        lambda exposure: exposure.funnel,
        (Column("Step", "name"), _REQUESTS, _MEANING),
        empty="No request was read.",
    ),
    Spec(
        "rates",
        "Confirmed or probable, three ways: each alone misleads",
        lambda exposure: exposure.headline.rates,
        (
            Column("Of the", "name"),
            count("Confirmed or probable", "affected"),
            count("All", "total"),
        ),
        empty="No request was read.",
    ),
    Spec(
        "lengths",
        "All requests by UTC day and prompt length",
        lambda exposure: exposure.lengths,
        (_DAY, _LOW, _REQUESTS),
        empty="No request with a time and a prompt length was read.",
    ),
    Spec(
        "points",
        "Requests that were over the limit or are affected",
        lambda exposure: exposure.points,
        (
            Column("Time (UTC)", "at", "time"),
            count("Prompt length (tokens)", "prompt_tokens"),
            _NODE,
            _TIER,
        ),
        file="affected_requests.csv, ruled_out.parquet and not_assessable.parquet",
        empty="None found: no request was over the limit or is affected, in what was read.",
    ),
    Spec(
        "days",
        "Requests per UTC day by tier",
        lambda exposure: exposure.days,
        (
            _DAY,
            count("All requests", "requests"),
            count("Confirmed (requests)", "confirmed"),
            count("Probable (requests)", "probable"),
            count("Possible (requests)", "possible"),
            count("Not assessable (requests)", "not_assessable"),
        ),
        empty="No request with a known day was read.",
    ),
    Spec(
        "rejections",
        "Rejected requests per UTC day, node and code",
        lambda exposure: exposure.rejections,
        (
            _DAY,
            _NODE,
            Column("Code", "code", "code"),
            count("Stopped (requests)", "stopped"),
            count("Served all the same (requests)", "served"),
            count("Outcome not known (requests)", "unknown"),
        ),
        file="rejections.csv",
        empty="No rejection was recorded in what was read.",
    ),
)

_TENANT_TABLES: Final = (
    Spec(
        "recipients",
        "Recipients, one row per tenant; counts are requests",
        lambda exposure: sorted(exposure.recipients, key=weight),
        (*_TENANT, *_TENANT_TIMES),
        file="affected_tenants.csv",
        empty="No tenant is listed as a recipient.",
    ),
    Spec(
        "sources",
        "Sources, one row per tenant: by tier the responses that may hold its data; its requests",
        lambda exposure: sorted(exposure.sources, key=weight),
        (*_TENANT, count("Pages (modelled)", "pages"), *_TENANT_TIMES),
        file="affected_tenants.csv",
        empty="No tenant is listed as a source.",
    ),
)

_DECISION_TABLES: Final = (
    Spec(
        "reasons",
        "Requests by tier and reason; a request may carry several reasons",
        lambda exposure: exposure.reasons,
        (_TIER, Column("Reason", "reason", "code"), _REQUESTS, _MEANING),
        empty="None found: no request was judged.",
    ),
    Spec(
        "missing",
        "Values that requests lack which could not be judged; one may lack several",
        lambda exposure: exposure.missing,
        (Column("Value", "column", "code"), _REQUESTS, _MEANING),
        empty="None found: no request that was judged lacks a value that its decision needed.",
    ),
    Spec(
        "prefill",
        "5th percentile of prefill time per UTC day and prompt length",
        lambda exposure: exposure.prefill_times,
        (
            _DAY,
            _LOW,
            count("up to, not including (tokens)", "high_tokens"),
            _REQUESTS,
            Column("p5 of prefill time (ms)", "p5_ms", "measure"),
            Column("Long context", "long_context"),
        ),
        empty="No prefill time was logged with a prompt length.",
    ),
    Spec(
        "checklist",
        "Isolation checklist, judged from the logs alone",
        lambda exposure: exposure.checklist,
        (
            Column("Item", "item"),
            Column("Requirement", "requirement"),
            Column("Result", "result", "result"),
            Column("Evidence", "evidence"),
        ),
        empty="The checklist was not judged.",
    ),
)

_EVIDENCE_TABLES: Final = (
    Spec(
        "epochs",
        "Capacity epochs; a positive gap means a window larger than the pool",
        lambda exposure: exposure.epochs,
        (
            _NODE,
            Column("Role", "role"),
            Column("From (UTC)", "effective_at", "time"),
            Column("Until (UTC)", "until", "until"),
            count("Pool (tokens)", "pool_tokens"),
            count("Window (tokens)", "context_tokens"),
            Column("Gap: window less pool (tokens)", "gap_tokens", "gap"),
            count("Input limit (tokens)", "input_limit_tokens"),
            Column("Limit known from", "limit_basis", below=True),
            count("Page (tokens)", "page_tokens"),
            Column("Inferred", "inferred"),
            Column("Engine", "engine"),
            Column("Version", "engine_version"),
            Column("Settings", "config", "settings", below=True),
        ),
        file="capacity.csv",
        empty="No pool size is known, from logs or from the incident file.",
    ),
    Spec(
        "changes",
        "Changed settings",
        lambda exposure: exposure.changes,
        (
            Column("Time (UTC)", "at", "time"),
            _NODE,
            Column("Setting", "setting", "code"),
            Column("Before", "before", "setting"),
            Column("After", "after", "setting"),
        ),
        file="capacity.csv",
        empty="No setting that moves a pool changed in what was read.",
    ),
    Spec(
        "timeline",
        "Timeline; stated means taken from the incident file, found means read from the logs",
        lambda exposure: exposure.timeline,
        (
            Column("Time (UTC)", "at", "time"),
            Column("Event", "name", "event"),
            Column("Basis", "basis"),
        ),
        empty="No event is stated or found.",
    ),
    Spec(
        "coverage",
        "Coverage by node",
        lambda exposure: exposure.coverage,
        (
            _NODE,
            Column("Hop", "hop"),
            Column("First record (UTC)", "first_at", "time"),
            Column("Last record (UTC)", "last_at", "time"),
            count("Records", "records"),
            count("Hours spanned", "hours"),
            count("Hours with records", "hours_with_records"),
            count("Gaps", "gaps"),
            count("Batch lines", "batches"),
            count("Hours of work without a record", "unlogged_hours"),
            count("Hours with far too few records", "thin_hours"),
            count("Equal records left out", "duplicates"),
            count("Numbers skipped in ids", "skipped"),
        ),
        file="coverage.csv",
        empty="No record was read.",
    ),
    Spec(
        "clock_pairs",
        "Clocks: the second node's time of a request less the first's; no time is moved by it",
        lambda exposure: exposure.clock_pairs,
        (
            Column("First node", "first", "id"),
            Column("Second node", "second", "id"),
            _REQUESTS,
            count("Median (µs)", "median_us"),
            count("5th percentile (µs)", "p5_us"),
            count("95th percentile (µs)", "p95_us"),
        ),
        empty="No request was logged by two nodes with a time of its own.",
    ),
    Spec(
        "read",
        "Records by format: read = kept + ignored + duplicate + unreadable",
        lambda exposure: exposure.read,
        (
            Column("Format", "format", "code"),
            count("Read (records)", "read"),
            count("Kept (records)", "kept"),
            Column("Ignored, by kind (records)", "ignored", "counts"),
            count("Duplicate (records)", "duplicate"),
            Column("Unreadable, by reason (records)", "unreadable", "counts"),
            Column("Values made null, by column", "bad_values", "counts"),
        ),
        file="manifest.json",
        empty="Nothing was read.",
    ),
)

SPECS: Final = {
    spec.name: spec
    for spec in (
        *_REQUEST_TABLES,
        *_TENANT_TABLES,
        *sourcestables.SPECS,
        *_DECISION_TABLES,
        *timingtables.SPECS,
        *isolationtables.SPECS,
        *casetables.SPECS,
        *boundstables.SPECS,
        *coveragetables.SPECS,
        *_EVIDENCE_TABLES,
    )
}


def build(exposure: Exposure) -> dict[str, Table]:
    """Return every table of the document, by name."""
    return {name: spec.table(exposure) for name, spec in SPECS.items()}
