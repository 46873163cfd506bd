"""What a gateway says of the request is read by a description that no real sample bore out."""

from __future__ import annotations

import polars as pl

from forensics.findings.base import Finding

UNVERIFIED_FORMAT = Finding(
    code="unverified_format",
    weight="circumstantial",
    needs=(),
    expression=pl.col("unverified"),
    meaning="a record of it is in a format that was held against no real sample: its size, "
    "model and status clear nobody",
    does_not_prove="that a value was misread",
)
