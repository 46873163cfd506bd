"""Nothing left for the client."""

from __future__ import annotations

import polars as pl

from forensics.findings.base import Finding

UNTOLD_STATUS = (499, 504)
"""The client went away, or a hop in between gave up: tokens may have been sent before."""

_REFUSED = (
    pl.col("completion_seen").is_null()
    & ~pl.col("http_status").is_between(200, 299)
    & ~pl.col("http_status").is_in(UNTOLD_STATUS)
    & ~pl.col("stream_error").fill_null(value=False)
)

NOT_DELIVERED = Finding(
    code="not_delivered",
    weight="delivery",
    needs=("completion_tokens", "http_status"),
    expression=((pl.col("completion_seen") == 0) | _REFUSED) & ~pl.col("delivery_disputed"),
    meaning="no token was generated, or the client got an error status and no stream",
    does_not_prove="that the pages were not read",
)
