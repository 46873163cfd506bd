"""The request ended after the window, and no record says when it came."""

from __future__ import annotations

import polars as pl

from forensics.findings.base import Finding

ARRIVAL_UNKNOWN = Finding(
    code="arrival_unknown",
    weight="circumstantial",
    needs=("finished_at",),
    expression=pl.col("arrival_unknown"),
    meaning="its earliest time is not its arrival, and is after the window: it may have come in it",
    does_not_prove="that the request came inside the window",
)
