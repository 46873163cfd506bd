"""The tenant is known only from a client record that shares no identifier with the engines."""

from __future__ import annotations

import polars as pl

from forensics.findings.base import Finding

TENANT_INFERRED = Finding(
    code="tenant_inferred",
    weight="circumstantial",
    needs=("tenant_id", "prompt_tokens", "received_at"),
    expression=pl.col("tenant_inferred"),
    meaning=(
        "the tenant is that of the only client record of this size and moment, which no "
        "identifier joins to the engines' own"
    ),
    does_not_prove="that the request was this tenant's",
)
