"""Attestations for the document: each with the tier that it found and the one that it left."""

from __future__ import annotations

import polars as pl

from forensics import exposure as doc
from forensics import judging
from forensics.analysis import Analysis
from forensics.attestations.match import FLAGS
from forensics.exposure import stamp
from forensics.incident import micros
from forensics.schema import TIERS


def reviews(analysis: Analysis) -> list[doc.Review]:
    """Return one row per attestation; the tiers before are judged again without any."""
    attested = analysis.attested
    if not attested.rows:
        return []
    bare = analysis.ready.drop([n for n in FLAGS.values() if n in analysis.ready.columns])
    named = pl.col("handoff").is_in(attested.named["handoff"].implode())
    if analysis.incident.trigger.mechanism == "read":
        bare = bare.filter(named)
    before = judging.judge(bare, analysis.incident, analysis.markers.handoffs)
    found = attested.named.select("line", "handoff")
    counts = dict(found.group_by("line").len().iter_rows())
    was, now = (_surest(found, rows) for rows in (before, analysis.requests))
    return [
        doc.Review(
            line=row.line,
            request_id=row.request_id,
            tenant_id=row.tenant_id,
            verdict=row.verdict,
            basis=row.basis,
            reviewer_role=row.reviewer_role,
            reviewed_at=stamp(micros(row.reviewed_at)) or "",
            method=row.method,
            requests=counts.get(row.line, 0),
            before=was.get(row.line),  # type: ignore[arg-type]
            after=now.get(row.line),  # type: ignore[arg-type]
        )
        for row in attested.rows
    ]


def _surest(found: pl.DataFrame, rows: pl.DataFrame) -> dict[int, str]:
    """Return the surest tier of the requests of each attestation."""
    tiers = found.join(rows.select("handoff", "tier"), on="handoff")
    ranked = tiers.with_columns(pl.col("tier").cast(pl.Enum(TIERS)))
    best = ranked.group_by("line").agg(pl.col("tier").min().cast(pl.String))
    return dict(best.iter_rows())
