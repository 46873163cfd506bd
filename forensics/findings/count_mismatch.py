"""The two sides counted the prompt differently: which of them is right is not settled."""

from __future__ import annotations

import polars as pl

from forensics.findings.base import DECODE_SIDE, Finding
from forensics.findings.placeholder_prefill import PLACEHOLDER_PREFILL

_ANOTHER_COUNTER = pl.col("decode_prompt_tokens").is_null() & (
    (DECODE_SIDE - pl.col("prefill_prompt_tokens")) >= pl.col("page_tokens")
)
"""Decode's count is absent, and that of a gateway may be of its own tokenizer."""

FEWER = (
    (pl.col("prefill_prompt_tokens") < DECODE_SIDE)
    & (pl.col("page_tokens").is_null() | _ANOTHER_COUNTER)
    & ~PLACEHOLDER_PREFILL.expression
).fill_null(value=False)
"""Prefill counted fewer, and what would tell whether a page is missing is absent."""

COUNT_MISMATCH = Finding(
    code="count_mismatch",
    weight="circumstantial",
    needs=("prefill_prompt_tokens", "decode_prompt_tokens"),
    expression=FEWER | (pl.col("prefill_prompt_tokens") > DECODE_SIDE),
    meaning=(
        "prefill counted more prompt tokens than the side that answered, or fewer where what "
        "settles it (a page size, decode's own count) is absent"
    ),
    does_not_prove="that a page was left unwritten",
)
