"""All reserved pages arrived."""

from __future__ import annotations

import polars as pl

from forensics.findings.base import RESERVED, TRANSFERRED, Finding

FULL_TRANSFER = Finding(
    code="full_transfer",
    weight="clears",
    needs=("reserved_pages", "transferred_pages"),
    expression=pl.when(RESERVED.is_not_null() & TRANSFERRED.is_not_null())
    .then(RESERVED == TRANSFERRED)
    .otherwise(pl.col("reserved_tokens") == pl.col("transferred_tokens"))
    & ~pl.col("transfer_calibrated"),
    meaning="as many pages arrived as decode had reserved",
    does_not_prove="that what arrived was computed from this prompt",
)
