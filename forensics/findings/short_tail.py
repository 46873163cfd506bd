"""Prefill worked on fewer tokens than decode, by less than a page."""

from __future__ import annotations

import polars as pl

from forensics.findings.base import Finding
from forensics.findings.placeholder_prefill import PLACEHOLDER_PREFILL

_LACKING = pl.col("decode_prompt_tokens") - pl.col("prefill_prompt_tokens")
LESS_THAN_A_PAGE = (
    _LACKING.is_between(0, pl.col("page_tokens"), closed="none") & ~PLACEHOLDER_PREFILL.expression
)

SHORT_TAIL = Finding(
    code="short_tail",
    weight="circumstantial",
    needs=("prefill_prompt_tokens", "decode_prompt_tokens"),
    expression=LESS_THAN_A_PAGE,
    meaning=(
        "prefill counted fewer tokens than decode, by less than a page: what decode reads behind "
        "them is what prefill's own page held before, or decode's where that page was not sent"
    ),
    does_not_prove="that those rows were read, or that they held anything",
)
