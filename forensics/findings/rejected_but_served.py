"""A hop rejected the request, and an answer left all the same."""

from __future__ import annotations

import polars as pl

from forensics.findings.base import Finding
from forensics.findings.not_delivered import NOT_DELIVERED

REJECTED_BUT_SERVED = Finding(
    code="rejected_but_served",
    weight="direct",
    needs=("rejected", "completion_tokens", "http_status"),
    expression=pl.col("rejected") & ~NOT_DELIVERED.expression.fill_null(value=False),
    meaning="a rejection was recorded and the request was not stopped by it",
    does_not_prove="that the rejecting hop was the one whose pages were missing",
)
