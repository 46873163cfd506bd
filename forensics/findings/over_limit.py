"""Where the prompt stands to the limit in force on the prefill side."""

from __future__ import annotations

import polars as pl

from forensics.findings.base import Finding
from forensics.findings.count_mismatch import FEWER
from forensics.schema import REFUSAL_LIMIT

_prompt = pl.max_horizontal("prompt_tokens", "decode_prompt_tokens")
"""Of decode or the client: prefill's own count alone shows no prompt to be below."""

COUNTS = ("prompt_tokens", "decode_prompt_tokens", "prefill_prompt_tokens", "prompt_seen")
most = pl.max_horizontal(COUNTS)
"""The largest count that any record states, believed or not: prefill rejects by its own, and a
gateway's tokenizer may count fewer."""

_refused = (pl.col(REFUSAL_LIMIT) == pl.col("limit_high")).fill_null(value=False)
"""Prefill itself said that the prompt is over: a count of another hop does not undo it."""

_NEEDS = ("prompt_tokens", "input_limit_tokens")

OVER_LIMIT = Finding(
    code="over_limit",
    weight="limit",
    needs=_NEEDS,
    expression=(most >= pl.col("limit_high")) | _refused,
    meaning="the prompt is at or over the smallest one that prefill rejects",
    does_not_prove="that it was rejected, or handed on after a rejection",
)

LIMIT_UNCERTAIN = Finding(
    code="limit_uncertain",
    weight="limit",
    needs=_NEEDS,
    expression=(most >= pl.col("limit_low")) & (most < pl.col("limit_high")),
    meaning="over the limit on one possible node or time, below it on another",
    does_not_prove="which of them it was",
)

NEAR_LIMIT = Finding(
    code="near_limit",
    weight="limit",
    needs=_NEEDS,
    expression=(most < pl.col("limit_low"))
    & (most >= pl.col("limit_low") - pl.col("slack_tokens")),
    meaning="below the limit by no more than the stated slack of the token count",
    does_not_prove="that the engine counted as many tokens as the limit",
)

BELOW_LIMIT = Finding(
    code="below_limit",
    weight="limit",
    needs=(*_NEEDS, "received_at"),
    expression=_prompt.is_not_null()
    & (most < pl.col("limit_low") - pl.col("slack_tokens"))
    & pl.col("received_at").is_not_null()
    & ~pl.col("limit_unseen")
    & ~_refused
    & ~FEWER,
    meaning="prompt, limit and time are known, and the prompt is below the limit",
    does_not_prove="anything under a write fault, or about another trigger",
)
