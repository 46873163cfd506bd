"""A log that was kept holds no record of this request: what it would show is not known."""

from __future__ import annotations

import polars as pl

from forensics.findings.base import Finding

LOG_GAP = Finding(
    code="log_gap",
    weight="circumstantial",
    needs=("received_at",),
    expression=pl.col("in_a_hole"),
    meaning="other hops prove this request, and a log that holds its neighbours has no record of "
    "it: a prompt below the limit clears nobody there",
    does_not_prove="that the record which is missing would have shown anything",
)
