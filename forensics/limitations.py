"""What the report cannot show: some always, some raised by the evidence."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from forensics.analysis import Analysis
from forensics.attribution.coresidency import unattributed
from forensics.exposure import Limitation
from forensics.schema import AFFECTED_TIERS

_ALWAYS = {
    "content_not_read": "No content was read: that a response held foreign data is inferred from "
    "counts and times, or attested by others. Only an attestation or a canary makes it confirmed.",
    "pages_not_logged": "No log names pages. Sources are the tenants whose requests ran on the "
    "same decode rank before the read (co-residency); that a tenant is listed does not show that "
    "its data was read, and which pages were reused is not modelled here.",
    "unlogged_requests": "A request of which no record is left in these logs cannot be counted.",
    "one_trigger": "Ruled out means ruled out for this trigger. Other faults that mix data of "
    "requests leave other traces and were not looked for.",
    "timing_thin": "Prefill times are shown as a 5th percentile per prompt length and day only. No "
    "request was judged by its time: timing clusters and expected times are not computed.",
    "coverage_thin": "An hour counts as missing only where a node is busy enough for an empty hour "
    "to be no chance; records lost within an hour are not seen.",
}


def limitations(analysis: Analysis) -> list[Limitation]:
    """Return the list, never empty: the standing ones, then those that this evidence raises."""
    found = [Limitation(code, sentence) for code, sentence in _ALWAYS.items()]
    return [*found, *_of_the_records(analysis), *_of_the_case(analysis)]


def _of_the_records(analysis: Analysis) -> Iterator[Limitation]:
    rows = analysis.requests
    affected = rows.filter(pl.col("tier").is_in(AFFECTED_TIERS))
    nameless = affected["tenant_id"].null_count()
    if nameless:
        sentence = f"{nameless:,} affected responses name no tenant; set [logs] tenant_from."
        yield Limitation("tenant_unknown", sentence)
    nowhere = unattributed(rows)
    if nowhere:
        sentence = f"{nowhere:,} affected responses name no decode rank: they have no sources here."
        yield Limitation("decode_rank_unknown", sentence)
    uncounted = affected["transferred_pages"].null_count()
    if uncounted:
        sentence = f"{uncounted:,} affected responses have no count of transferred pages."
        yield Limitation("transfers_not_logged", sentence)
    inferred = int(rows["inferred"].sum())
    if inferred:
        sentence = f"{inferred:,} requests were joined by size and moment, not by an identifier."
        yield Limitation("inferred_joins", sentence)


def _of_the_case(analysis: Analysis) -> Iterator[Limitation]:
    asked = analysis.incident
    if analysis.assumed_nodes:
        nodes = ", ".join(analysis.assumed_nodes)
        yield Limitation("zone_assumed", f"UTC was assumed for the clocks of {nodes}.")
    if asked.logs.sampling_rate < 1:
        share = f"{asked.logs.sampling_rate:g}"
        yield Limitation("sampled", f"The logs are a sample of {share} of all requests.")
    if asked.trigger.mechanism != "read":
        sentence = (
            f"mechanism = {asked.trigger.mechanism}: a prompt below the limit clears nobody, and "
            "the two populations may stand the other way round."
        )
        yield Limitation("direction", sentence)
