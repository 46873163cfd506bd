"""Two requests held one block at the same time."""

from __future__ import annotations

import polars as pl

from forensics.findings.base import Finding

BLOCK_OVERLAP = Finding(
    code="block_overlap",
    weight="direct",
    needs=("block_overlap",),
    expression=pl.col("block_overlap"),
    meaning=(
        "the engine's own dump lists a block of this request under another one too, and not as "
        "a prefix that both begin with"
    ),
    does_not_prove="which of the two wrote to it last, or that an answer was computed from it",
)
