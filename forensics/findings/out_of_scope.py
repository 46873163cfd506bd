"""The request is not what the case is about."""

from __future__ import annotations

import polars as pl

from forensics.findings.base import Finding

OUT_OF_SCOPE = Finding(
    code="out_of_scope",
    weight="scope",
    needs=("model", "received_at"),
    expression=pl.col("outside_models") | pl.col("outside_window"),
    meaning="another model, or outside the window by more than the clock is uncertain",
    does_not_prove="that the request was answered rightly",
)
