"""The sensitivity table of the document."""

from __future__ import annotations

from forensics import exposure as doc
from forensics.analysis import Analysis
from forensics.sensitivity import Stand, table


def sensitivity(analysis: Analysis) -> list[doc.Neighbour]:
    """Return the counts as judged and under each neighbouring choice; judged again, not typed."""
    stand = Stand(
        analysis.ready,
        analysis.requests,
        analysis.prefill_logs,
        analysis.incident,
        analysis.markers.handoffs,
    )
    return [
        doc.Neighbour(
            kind=row.kind, choice=row.name, **row.tiers, over_limit=row.over_limit, moved=row.moved
        )
        for row in table(stand)
    ]
