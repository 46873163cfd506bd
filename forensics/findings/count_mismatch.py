"""The two sides counted the prompt differently, and no page size says whether it matters."""

from __future__ import annotations

import polars as pl

from forensics.findings.base import DECODE_SIDE, Finding
from forensics.findings.placeholder_prefill import PLACEHOLDER_PREFILL

COUNT_MISMATCH = Finding(
    code="count_mismatch",
    weight="circumstantial",
    needs=("prefill_prompt_tokens", "decode_prompt_tokens"),
    expression=(pl.col("prefill_prompt_tokens") < DECODE_SIDE)
    & pl.col("page_tokens").is_null()
    & ~PLACEHOLDER_PREFILL.expression,
    meaning="prefill counted fewer prompt tokens, by less than can be judged without a page size",
    does_not_prove="that a page was left unwritten",
)
