"""Somebody who may look at content attested what the answer held."""

from __future__ import annotations

import polars as pl

from forensics.findings.base import Finding

ATTESTED_FOREIGN = Finding(
    code="attested_foreign",
    weight="attested",
    needs=("request_id",),
    expression=pl.col("reviewed_foreign"),
    meaning="a reviewer attested that the answer held data of others",
    does_not_prove="whose data it was, or that the reviewer saw all of it",
)

ATTESTED_OWN = Finding(
    code="attested_own",
    weight="reviewed",
    needs=("request_id",),
    expression=pl.col("reviewed_own"),
    meaning="a reviewer attested that the answer held no data of others",
    does_not_prove="that the hand-off was complete, or that a short trace was not overlooked",
)
