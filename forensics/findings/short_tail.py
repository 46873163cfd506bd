"""Prefill worked on fewer tokens than decode, but on as many pages."""

from __future__ import annotations

import polars as pl

from forensics.findings.base import Finding
from forensics.findings.placeholder_prefill import PLACEHOLDER_PREFILL

_LACKING = pl.col("decode_prompt_tokens") - pl.col("prefill_prompt_tokens")

SHORT_TAIL = Finding(
    code="short_tail",
    weight="circumstantial",
    needs=("prefill_prompt_tokens", "decode_prompt_tokens"),
    expression=_LACKING.is_between(0, pl.col("page_tokens"), closed="none")
    & ~PLACEHOLDER_PREFILL.expression,
    meaning=(
        "prefill counted fewer tokens than decode, by less than a page: all pages arrive, and "
        "the end of the last one holds what prefill's own page held before"
    ),
    does_not_prove="that those rows were read, or that they held anything",
)
