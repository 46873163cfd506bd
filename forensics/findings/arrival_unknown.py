"""No record says when the request came, and it may have come in the window or after it."""

from __future__ import annotations

import polars as pl

from forensics.findings.base import Finding

ARRIVAL_UNKNOWN = Finding(
    code="arrival_unknown",
    weight="circumstantial",
    needs=("finished_at",),
    expression=pl.col("arrival_unknown"),
    meaning="its earliest time is not its arrival, and may be after the window by its clock: "
    "whether it came in it is not known",
    does_not_prove="that the request came inside the window",
)
