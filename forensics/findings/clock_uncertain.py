"""The clock may be off by more than the window's edge is away."""

from __future__ import annotations

import polars as pl

from forensics.findings.base import Finding

CLOCK_UNCERTAIN = Finding(
    code="clock_uncertain",
    weight="circumstantial",
    needs=("received_at",),
    expression=pl.col("near_clock_edge"),
    meaning="the time is from a clock that others contradict, by more than the edge is away, or of "
    "a format that was not verified",
    does_not_prove="that the request was inside or outside the window",
)
