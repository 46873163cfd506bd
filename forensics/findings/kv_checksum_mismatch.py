"""What arrived is not what was sent: the strongest single line an engine can log."""

from __future__ import annotations

import polars as pl

from forensics.findings.base import Finding

KV_CHECKSUM_MISMATCH = Finding(
    code="kv_checksum_mismatch",
    weight="direct",
    needs=("kv_checksum_mismatch",),
    expression=pl.col("kv_checksum_mismatch"),
    meaning="decode summed the pages that arrived and found other content than prefill had sent",
    does_not_prove="whose data lay in them, or that it was anybody's: a damaged transfer also fits",
)
