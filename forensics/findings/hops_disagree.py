"""Hops that speak for the same thing logged different values."""

from __future__ import annotations

import polars as pl

from forensics.findings.base import Finding

HOPS_DISAGREE = Finding(
    code="hops_disagree",
    weight="circumstantial",
    needs=(),
    expression=pl.col("disagreement").is_not_null(),
    meaning="two hops logged different values for the same thing; both are in the lineage",
    does_not_prove="which of them is right",
)
