"""More pages arrived than were reserved: one of the two figures is wrong."""

from __future__ import annotations

from forensics.findings.base import RESERVED, TRANSFERRED, Finding

TRANSFER_MISMATCH = Finding(
    code="transfer_mismatch",
    weight="circumstantial",
    needs=("reserved_pages", "transferred_pages"),
    expression=TRANSFERRED > RESERVED,
    meaning="more pages are said to have arrived than were reserved (data quality)",
    does_not_prove="exposure, or its absence",
)
