"""The hand-off failed by a record of it, and no later one shows that it was completed."""

from __future__ import annotations

import polars as pl

from forensics.findings.base import DELIVERED, Finding

HANDOFF_FAILED = Finding(
    code="handoff_failed",
    weight="circumstantial",
    needs=("transfer_status",),
    expression=pl.col("handoff_failed"),
    meaning="a side recorded that this hand-off failed or was aborted, and nothing later that its "
    "pages arrived: what both sides counted, or how long the prompt is, does not clear it",
    does_not_prove="that the failure was one of this try, or that anything was answered",
)

FAILED_BUT_SERVED = Finding(
    code="failed_but_served",
    weight="circumstantial",
    needs=("transfer_status", "completion_tokens", "http_status"),
    expression=pl.col("handoff_failed") & DELIVERED,
    meaning="an answer left although a record says that this hand-off failed",
    does_not_prove="that the answer was made of pages that had not arrived",
)
