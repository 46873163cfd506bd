"""The bounds beside the arithmetic one, each where its situation arises."""

from __future__ import annotations

import polars as pl

from forensics import exposure as doc
from forensics.analysis import Analysis
from forensics.bounds.clustered import clustered
from forensics.bounds.detector import detector
from forensics.bounds.lost import lost
from forensics.bounds.none_found import none_found
from forensics.bounds.rates import CERTAIN
from forensics.bounds.sampled import sampled
from forensics.coverage.lost import lost_hours
from forensics.incomplete import short_of
from forensics.validation.results import Results, Situation, current, shown, stored
from forensics.verdicts import in_scope

ALL_LOGS = "all logs"
"""The situation whose recall bounds a count: the others say what missing logs cost."""


def further(
    analysis: Analysis, counts: dict[str, int], *, complete: bool
) -> list[doc.StatisticalBound]:
    """Return what a sample, missing hours and this tool's own recall say of the count.

    Args:
        analysis: what was read and judged.
        counts: responses by tier.
        complete: nothing is known to be missing of the evidence. The recall with all logs says
            nothing of logs that lack some.
    """
    certain = counts.get("confirmed", 0) + counts.get("probable", 0)
    found = sampled(certain, analysis.incident.logs.sampling_rate)
    gone = lost_hours(analysis.coverage, analysis.holes)
    if gone.alone:
        found += lost(certain, gone.missing, gone.hours, gone.hop)
    results = stored()
    if complete and results is not None and current(results):
        for one in results.situations:
            if one.name == ALL_LOGS:
                found += detector(certain, one.sure.found, one.sure.of, results.version)
    return found


def shares(analysis: Analysis, received: pl.DataFrame) -> list[doc.ShareBound]:
    """Return bounds of shares: where none was found, and by tenant where requests are missing.

    Args:
        analysis: what was read and judged.
        received: requests with their tiers as recipients.
    """
    rows = in_scope(received, "tenant_id", "tier")
    counts = dict(rows.group_by("tier").len().iter_rows())
    if not any(counts.get(tier) for tier in ("confirmed", "probable", "possible")):
        # Whose records are lacking was not judged by them: no review could have met anything.
        unread = short_of(analysis)
        judged = counts.get("ruled_out", 0) - unread
        return none_found(judged, counts.get("not_assessable", 0) + unread)
    missing = lost_hours(analysis.coverage, analysis.holes).missing
    part = analysis.incident.logs.sampling_rate < 1 or missing
    hits = rows.select("tenant_id", hit=pl.col("tier").is_in(CERTAIN))
    return clustered(hits) if part else []


def error_rates() -> doc.Validated:
    """Return what is known of this version's errors on seeded incidents."""
    results = stored()
    if results is None:
        return doc.Validated()
    if not current(results):
        return doc.Validated(
            "This version was not validated on seeded incidents; the last one that was is "
            f"{results.version}."
        )
    return doc.Validated(_said(results), [_rate(one) for one in results.situations])


def _said(results: Results) -> str:
    last = results.first_seed + results.seeds - 1
    return (
        f"Version {results.version} was validated on {results.seeds} seeded incidents (seeds "
        f"{results.first_seed} to {last}), each judged from what five ways of keeping logs leave. "
        "Intervals are of 95 %, two-sided (Clopper-Pearson); they hold for incidents like these, "
        "which all have one fault, and seeded incidents are no real ones." + _blind(results)
    )


def _blind(results: Results) -> str:
    """Say that recall bounds no count where nothing that was seeded was found for sure."""
    for one in results.situations:
        if one.name == ALL_LOGS and not one.sure.found:
            return (
                f" With all logs it found none of {one.sure.of:,} affected responses for sure: "
                "how many it missed here is bounded by nothing."
            )
    return ""


def _rate(one: Situation) -> doc.ErrorRate:
    return doc.ErrorRate(
        one.name,
        one.incidents,
        one.affected,
        shown(one.precision),
        shown(one.recall),
        shown(one.sure),
        shown(one.covered),
        one.ruled_out,
    )
