"""The limit in force is not known: a start of its prefill server may have been since."""

from __future__ import annotations

import polars as pl

from forensics.findings.base import Finding

START_UNSEEN = Finding(
    code="start_unseen",
    weight="circumstantial",
    needs=("received_at",),
    expression=pl.col("start_unseen"),
    meaning="a start of its prefill server with another pool may lie between it and what tells the "
    "limit: records are missing there, or no log shows that the server ran on",
    does_not_prove="that the server started, or that its limit changed",
)
