"""Prefill gave blocks back before decode had fetched them."""

from __future__ import annotations

import polars as pl

from forensics.findings.base import Finding

_READ = pl.col("expired_read").fill_null(value=False)
_REFUSED = pl.col("expired_refused").fill_null(value=False)

EXPIRED_TRANSFER = Finding(
    code="expired_transfer",
    weight="direct",
    needs=("expired_read",),
    expression=_READ,
    meaning="decode fetched the blocks of this hand-off after prefill had given them back",
    does_not_prove="that another request had written to them by then, or whose it was",
)

EXPIRED_RELEASE = Finding(
    code="expired_release",
    weight="traced",
    needs=("expired_release", "expired_read"),
    expression=pl.col("expired_release") & ~_READ & ~_REFUSED,
    meaning=(
        "prefill gave the blocks of this hand-off back before decode had said that it had them"
    ),
    does_not_prove="that decode fetched them afterwards: no line about a late read was found",
)
