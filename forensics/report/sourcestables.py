"""The tables of how the sources were found."""

from __future__ import annotations

from typing import Final

from forensics.report.spec import Column, Spec, count

_RESPONSES: Final = count("Affected responses", "responses")

SPECS: Final = (
    Spec(
        "source_ranks",
        "Decode ranks with affected responses: modelled, checked or not, or by co-residency only",
        lambda exposure: exposure.attribution.ranks,
        (
            Column("Node", "node", "id"),
            Column("Since its start (UTC)", "since", "checked"),
            count("Requests", "requests"),
            _RESPONSES,
            Column("Allocator", "allocator", "code"),
            Column("Result", "result"),
            count("Replays", "replays"),
            count("Hours with figures of the engine", "hours"),
            count("Hours that agree", "hours_fitting"),
            Column("Not modelled, or not checked, because", "reasons", "words"),
        ),
        empty="No decode rank was looked back on: the sentence above says why.",
    ),
    Spec(
        "lookback",
        "Other tenants that ran on the rank within so many hours before the read",
        lambda exposure: exposure.attribution.lookback,
        (
            Column("Within", "within"),
            count("Tenants, median over the responses", "median_tenants"),
            count("Tenants, most", "most_tenants"),
            _RESPONSES,
        ),
        empty="No affected response with a known decode rank.",
    ),
    Spec(
        "page_owners",
        "Pages that one response read and had not written, by who wrote them last (modelled)",
        lambda exposure: (
            exposure.attribution.example.owners if exposure.attribution.example else ()
        ),
        (
            Column("Written by", "who", "id"),
            count("Pages (modelled)", "pages"),
            count("Requests", "requests"),
            Column("Highest probability", "probability", "measure"),
            Column("Own", "same_tenant"),
        ),
        empty="No page of an affected response is named a writer for.",
    ),
    Spec(
        "spread",
        "Ways on: possible, never seen in a log, and in no other count",
        lambda exposure: exposure.attribution.spread,
        (
            Column("Way", "way"),
            _RESPONSES,
            count("Later requests it may concern", "requests"),
            Column("Is the rank known to keep prefixes", "known"),
            Column("What it means", "sentence"),
        ),
        empty="No response is affected.",
    ),
)
