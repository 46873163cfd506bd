"""The count of pages that arrived is computed, not logged."""

from __future__ import annotations

import polars as pl

from forensics.findings.base import Finding

TRANSFER_CALIBRATED = Finding(
    code="transfer_calibrated",
    weight="circumstantial",
    needs=("transferred_pages",),
    expression=pl.col("transfer_calibrated"),
    meaning="transferred pages are computed from megabytes, at the rate of that engine's others",
    does_not_prove=(
        "that so many pages arrived: some versions compute the megabytes from the prompt, so it "
        "never clears a request"
    ),
)
