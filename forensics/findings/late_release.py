"""Decode gave pages back while prefill may still have been writing to them."""

from __future__ import annotations

import polars as pl

from forensics.findings.base import Finding

LATE_RELEASE = Finding(
    code="late_release",
    weight="circumstantial",
    needs=("late_release",),
    expression=pl.col("late_release"),
    meaning="decode gave the pages of this hand-off back without knowing that its writes were over",
    does_not_prove=(
        "that anything was written late, or into whose pages: a later request on that rank would "
        "be the one that read it"
    ),
)
