"""The limit in force is not known: after a hole in the log of its prefill server."""

from __future__ import annotations

import polars as pl

from forensics.findings.base import Finding

START_UNSEEN = Finding(
    code="start_unseen",
    weight="circumstantial",
    needs=("received_at",),
    expression=pl.col("start_unseen"),
    meaning="records of its prefill server are missing before it, a start with another pool may "
    "be among them, and nothing since shows that prompts of this length are below the limit",
    does_not_prove="that the server started, or that its limit changed",
)
