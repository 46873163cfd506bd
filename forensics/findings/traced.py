"""A line without a request's name fits this request: by its node, its moment and its size."""

from __future__ import annotations

import polars as pl

from forensics.findings.base import Finding

_NEEDS = ("prefill_node", "received_at", "decode_prompt_tokens", "prompt_tokens")

STATE_MISMATCH = Finding(
    code="state_mismatch",
    weight="traced",
    needs=_NEEDS,
    expression=pl.col("fits_state_mismatch"),
    meaning="prefill logged a hand-off of one page that fits this request in size, moment and node",
    does_not_prove="that it was this request: others of that size and moment fit the line as well",
)

TRUNCATED_PREFILL = Finding(
    code="truncated_prefill",
    weight="traced",
    needs=_NEEDS,
    expression=pl.col("fits_truncated"),
    meaning="prefill shortened a prompt of exactly this size at that moment",
    does_not_prove="that it was this request, or that decode did not shorten it as well",
)
