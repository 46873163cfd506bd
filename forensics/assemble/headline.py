"""The first screen of the document: how many, how sure, and by how much that could be wrong."""

from __future__ import annotations

from typing import Any

import polars as pl

from forensics import direction
from forensics import exposure as doc
from forensics.analysis import Analysis
from forensics.assemble.bounds import further
from forensics.bounds.arithmetic import COUNTED, arithmetic
from forensics.bounds.rates import rates
from forensics.bounds.twice import Twice, twice
from forensics.coverage.counters import short
from forensics.exposure import stamp
from forensics.incomplete import LINES, UNEXPLAINED, by_length, incomplete, short_of
from forensics.ongoing import ongoing
from forensics.schema import AFFECTED_TIERS, TIERS
from forensics.sources.howmany import any_number, one_at_most
from forensics.wording import count

TIER_MEANING = {
    "confirmed": "an attestation or a canary marker shows foreign content",
    "probable": "direct evidence that decode read pages this request had not written",
    "possible": "could have been affected and cannot be excluded",
    "ruled_out": "a necessary condition is shown to be false",
    "not_assessable": "a value needed to decide is missing; counted in the upper bound, if there "
    "is one",
}


def headline(
    analysis: Analysis,
    found_recipients: list[doc.Tenant],
    found_sources: list[doc.Tenant],
) -> doc.Headline:
    """Return the first screen of an analysis with these populations."""
    rows, mechanism = analysis.requests, analysis.incident.trigger.mechanism
    got = received(rows, mechanism)
    counts, among = counts_of(rows), counts_of(got)
    delivered = counts_of(rows.filter(pl.col("rung") == "delivered"))
    told = [t for t in found_recipients if t.tier in AFFECTED_TIERS]
    unknown = sum(t.n_confirmed + t.n_probable + t.n_possible for t in told if t.tenant_id is None)
    lacking = incomplete(analysis)
    holes = (analysis.holes.lacking, analysis.holes.untold)
    lost = pl.concat(rows.select("handoff", "hop") for rows in holes)
    counted_twice = twice(got, analysis.unsettled, lost, analysis.twins)
    times = got.filter(pl.col("tier").is_in(AFFECTED_TIERS))["received_at"].drop_nulls()
    return doc.Headline(
        sentence=sentence(among, told, rows.height)
        + _listed_twice(counted_twice)
        + _written(rows, mechanism)
        + reservation(lacking),
        direction=direction.sentence(mechanism),
        tiers=[
            doc.TierCount(tier, counts.get(tier, 0), delivered.get(tier, 0), TIER_MEANING[tier])
            for tier in TIERS
        ],
        recipients=sum(1 for t in told if t.tenant_id is not None),
        recipients_unknown_tenant=unknown,
        sources=sum(1 for t in found_sources if t.tenant_id is not None and not t.same_tenant_only),
        first_affected_at=stamp(_int(times.min())) if len(times) else None,
        last_affected_at=stamp(_int(times.max())) if len(times) else None,
        ongoing=ongoing(analysis),
        bound=arithmetic(
            among,
            _unseen(analysis),
            analysis.incident.logs.sampling_rate,
            by_length(analysis),
            counted_twice,
            sum(any(map(any_number, file.unread)) for file in analysis.files),
        ),
        incomplete=lacking,
        further_bounds=further(analysis, among, complete=not lacking),
        rates=rates(got),
    )


def received(rows: pl.DataFrame, mechanism: str) -> pl.DataFrame:
    """Return the requests with their tiers as recipients: those that only wrote are none."""
    if mechanism == "read":
        return rows
    tier = direction.received_tier(mechanism)
    listed = direction.receives(mechanism) | (pl.col("tier") == "ruled_out")
    return rows.with_columns(tier=pl.when(listed).then(tier).otherwise(pl.lit("ruled_out")))


def counts_of(rows: pl.DataFrame) -> dict[str, int]:
    """Return how many requests each tier has."""
    return {str(tier): int(n) for tier, n in rows.select("tier").group_by("tier").len().iter_rows()}


def _unseen(analysis: Analysis) -> dict[str, int]:
    """Return records that could each be one more affected response, by their kind."""
    lines = {f"{line}(s) {UNEXPLAINED}": analysis.traces.left(kind) for kind, line in LINES.items()}
    return {
        "unreadable record(s)": sum(
            one_at_most(one) for file in analysis.files for one in file.unread
        ),
        "prompt(s) that numbered ids prove and no log holds": int(
            analysis.coverage.nodes["skipped"].sum()
        ),
        "request(s) below the limit that logs of engines lack": short_of(analysis),
        COUNTED: short(analysis.counted),
        "gateway record(s) without a pair among engine records": analysis.hidden,
        "prefill record(s) that a gateway's may stand for": analysis.stood_for,
        "canary hit(s) in requests that no log holds": analysis.markers.unlogged,
        "attested answer(s) of requests that no log holds": sum(
            row.verdict == "foreign" for row in analysis.attested.unmatched
        ),
        **lines,
    }


def sentence(counts: dict[str, int], told: list[doc.Tenant], total: int) -> str:
    """Say how many responses of each tier went to how many tenants, among so many requests."""
    affected = sum(counts.get(tier, 0) for tier in AFFECTED_TIERS)
    named = sum(1 for t in told if t.tenant_id is not None)
    nameless = any(t.tenant_id is None for t in told)
    if not affected:
        return _none(counts.get("not_assessable", 0), total)
    parts = [f"{counts[tier]:,} {tier}" for tier in AFFECTED_TIERS if counts.get(tier)]
    to = f"to {count(named, 'tenant')}"
    if nameless:
        to += " and to requests without a tenant" if named else ""
        to = to if named else "to requests without a tenant"
    found, among = count(affected, "affected response"), count(total, "request")
    return f"{found} ({', '.join(parts)}) {to}, among {among}."


def _none(unknown: int, total: int) -> str:
    """Say that none was found, and of how many requests that says nothing."""
    if total and unknown == total:
        return f"None of {count(total, 'request')} could be judged."
    judged = f", {unknown:,} of which could not be judged" if unknown else ""
    return f"No affected response was found among {count(total, 'request')}{judged}."


def _listed_twice(counted: Twice) -> str:
    """Say how many may be listed twice, under ids of two logs."""
    if not counted.listed:
        return ""
    return (
        f" Up to {counted.listed:,} of them may be listed twice: two logs held them under "
        "ids that do not tell."
    )


def _written(rows: pl.DataFrame, mechanism: str) -> str:
    """Say how many requests gave, where that is another population than those that received."""
    if mechanism != "write":
        return ""
    wrote = rows.filter(direction.gives(mechanism)).height
    return f" {count(wrote, 'request')} met the condition of the fault, and may have written there."


def reservation(lacking: list[str]) -> str:
    """Say in the first sentence that evidence is missing, where it is."""
    if not lacking:
        return ""
    return f" The evidence is incomplete: {count(len(lacking), 'reason')} below."


def _int(value: Any) -> int:
    return int(value)
