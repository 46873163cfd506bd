"""The clock's zone was assumed, and the window's edge is within its uncertainty."""

from __future__ import annotations

import polars as pl

from forensics.findings.base import Finding

ZONE_ASSUMED = Finding(
    code="zone_assumed",
    weight="circumstantial",
    needs=("received_at",),
    expression=pl.col("near_window_edge"),
    meaning="the time is from a clock of assumed zone, within 14 hours of the window's edge",
    does_not_prove="that the request was inside or outside the window",
)
