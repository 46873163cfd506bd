"""The hops of this request share no identifier."""

from __future__ import annotations

import polars as pl

from forensics.findings.base import Finding

JOINED_BY_INFERENCE = Finding(
    code="joined_by_inference",
    weight="circumstantial",
    needs=("transfer_id",),
    expression=pl.col("inferred"),
    meaning="records were put together by size and moment, not by an identifier",
    does_not_prove="that they are of one request",
)
