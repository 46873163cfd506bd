"""Fewer pages arrived than decode had reserved."""

from __future__ import annotations

import polars as pl

from forensics.findings.base import SHORT, Finding

SHORT_TRANSFER = Finding(
    code="short_transfer",
    weight="direct",
    needs=("reserved_pages", "transferred_pages"),
    expression=SHORT,
    meaning="fewer pages arrived than decode had reserved for the prompt",
    does_not_prove="whose data lay in the pages that did not arrive",
)

COMPLETE_BUT_SHORT = Finding(
    code="complete_but_short",
    weight="direct",
    needs=("reserved_pages", "transferred_pages", "transfer_status"),
    expression=SHORT & (pl.col("transfer_status") == "complete"),
    meaning="the hand-off claimed to be complete although pages were missing",
    does_not_prove="whose data lay in the pages that did not arrive",
)
