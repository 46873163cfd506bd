"""The two populations of the document, by the mechanism of the fault."""

from __future__ import annotations

from forensics import exposure as doc
from forensics import tables
from forensics.analysis import Analysis
from forensics.recipients import recipients, sources


def populations(analysis: Analysis) -> tuple[list[doc.Tenant], list[doc.Tenant]]:
    """Return recipients and sources; who stands where follows from the mechanism."""
    rows, mechanism = analysis.requests, analysis.incident.trigger.mechanism
    found = sources(analysis.pairs, analysis.resident, tables.affected(rows))
    return recipients(rows, mechanism), found
