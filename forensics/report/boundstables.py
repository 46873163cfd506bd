"""The tables of how wrong the counts could be: neighbouring choices."""

from __future__ import annotations

from typing import Final

from forensics.report.spec import Column, Spec, count

SPECS: Final = (
    Spec(
        "reviews",
        "Attestations: what reviewers said, and the tier before and after",
        lambda exposure: exposure.reviews,
        (
            Column("Request", "request_id", "id"),
            Column("Said", "verdict"),
            Column("Basis", "basis"),
            Column("Role", "reviewer_role"),
            Column("Reviewed (UTC)", "reviewed_at", "time"),
            Column("Method", "method", "id"),
            Column("Tier before", "before", "tier"),
            Column("Tier after", "after", "tier"),
            Column("Line of verdicts.csv", "line"),
        ),
        empty="No attestation was given: no person's look at an answer is in these tiers.",
    ),
    Spec(
        "sensitivity",
        "The same records under neighbouring choices, each judged again; counts are requests",
        lambda exposure: exposure.sensitivity,
        (
            Column("Choice", "choice"),
            count("Confirmed", "confirmed"),
            count("Probable", "probable"),
            count("Possible", "possible"),
            count("Ruled out", "ruled_out"),
            count("Not assessable", "not_assessable"),
            count("At or over the limit", "over_limit"),
            count("Change their tier", "moved"),
        ),
        empty="No request was judged.",
    ),
    Spec(
        "error_rates",
        "Errors of this version on seeded incidents, by what is left of the logs",
        lambda exposure: exposure.validated.rates,
        (
            Column("Logs", "situation"),
            count("Incidents", "incidents"),
            count("Affected in the logs (responses)", "affected"),
            Column("Precision of confirmed and probable", "precision"),
            Column("Recall, with possible", "recall"),
            Column("Recall of confirmed and probable", "sure"),
            Column("Incidents with the true number within the bound", "covered"),
            count("Affected and ruled out", "ruled_out"),
        ),
        empty="This version was not validated on seeded incidents.",
    ),
)
