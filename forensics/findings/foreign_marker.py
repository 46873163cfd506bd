"""A canary marker of another request was seen in the answer."""

from __future__ import annotations

import polars as pl

from forensics.findings.base import Finding

FOREIGN_MARKER = Finding(
    code="foreign_marker",
    weight="attested",
    needs=("request_id",),
    expression=pl.col("marker_seen"),
    meaning="a marker that another request had planted was found in this answer",
    does_not_prove="whose other data the answer held",
)
