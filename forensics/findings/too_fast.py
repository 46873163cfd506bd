"""The prefill took less time than its tokens need: they were not computed."""

from __future__ import annotations

import polars as pl

from forensics.findings.base import Finding
from forensics.timing.factor import FACTOR

TOO_FAST = Finding(
    code="too_fast",
    weight="circumstantial",
    needs=("prefill_ms", "prompt_tokens", "cached_tokens"),
    expression=pl.col("timing_fast"),
    meaning=(
        "prefill was faster than the tokens that had to be computed allow: beyond chance, "
        f"{FACTOR:g} times faster than expected and than any rate seen on that node, and in a time "
        "that one token can take"
    ),
    does_not_prove=(
        "whose pages were read instead: a prefix hit that was not counted is as fast; together "
        "with a prompt over the limit it makes a response probable"
    ),
)
