"""The two sides counted the prompt differently, and no page size says whether it matters."""

from __future__ import annotations

import polars as pl

from forensics.findings.base import DECODE_SIDE, Finding
from forensics.findings.placeholder_prefill import PLACEHOLDER_PREFILL

_ANOTHER_COUNTER = pl.col("decode_prompt_tokens").is_null() & (
    (DECODE_SIDE - pl.col("prefill_prompt_tokens")) >= pl.col("page_tokens")
)
"""Decode's count is absent, and that of a gateway may be of its own tokenizer."""

COUNT_MISMATCH = Finding(
    code="count_mismatch",
    weight="circumstantial",
    needs=("prefill_prompt_tokens", "decode_prompt_tokens"),
    expression=(pl.col("prefill_prompt_tokens") < DECODE_SIDE)
    & (pl.col("page_tokens").is_null() | _ANOTHER_COUNTER)
    & ~PLACEHOLDER_PREFILL.expression,
    meaning=(
        "prefill counted fewer prompt tokens, and what settles it (a page size, decode's own "
        "count) is absent"
    ),
    does_not_prove="that a page was left unwritten",
)
