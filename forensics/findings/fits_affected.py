"""A client's record fits a response that names no tenant, and is affected or cannot be judged."""

from __future__ import annotations

import polars as pl

from forensics.findings.base import Finding

FITS_AFFECTED = Finding(
    code="fits_affected",
    weight="traced",
    needs=("received_at",),
    expression=pl.col("fits_affected"),
    meaning=(
        "a response that is listed without a tenant, under an id of the engines, fits this client "
        "record in time and size: it may be the same request"
    ),
    does_not_prove="that it is: other client records fit it as well, or its clock is not known",
)

FITS_UNJUDGED = Finding(
    code="fits_unjudged",
    weight="circumstantial",
    needs=("received_at",),
    expression=pl.col("fits_unjudged"),
    meaning=(
        "a response without a tenant that cannot be judged fits this client record in time and "
        "size: a prompt below the limit clears nobody there"
    ),
    does_not_prove="that it is the same request, or that it was affected",
)
