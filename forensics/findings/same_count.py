"""Both sides counted the same prompt."""

from __future__ import annotations

import polars as pl

from forensics.findings.base import Finding

_SAME = pl.col("prefill_prompt_tokens") == pl.col("decode_prompt_tokens")
_SHORTENED = pl.col("prompt_tokens") > pl.col("decode_prompt_tokens")

SAME_COUNT = Finding(
    code="same_count",
    weight="clears",
    needs=("prefill_prompt_tokens", "decode_prompt_tokens"),
    expression=_SAME & ~_SHORTENED,
    meaning="prefill and decode counted the same prompt",
    does_not_prove="that all pages arrived",
)

TRUNCATED_CONSISTENTLY = Finding(
    code="truncated_consistently",
    weight="clears",
    needs=("prompt_tokens", "prefill_prompt_tokens", "decode_prompt_tokens"),
    expression=_SAME & _SHORTENED,
    meaning="both sides worked on the same shortened prompt",
    does_not_prove="that the client knew of the shortening",
)
