"""A hop rejected the request, and an answer left all the same."""

from __future__ import annotations

import polars as pl

from forensics.findings.base import DELIVERED, Finding
from forensics.findings.not_delivered import NOT_DELIVERED

_TAKEN = (
    *("decode_prompt_tokens", "reserved_pages", "reserved_tokens"),
    *("transferred_pages", "transferred_tokens", "reserved_at"),
)
"""What decode alone says: it took the request on. That it answered may not be logged."""
_SERVED = (
    DELIVERED.fill_null(value=False)
    | pl.col("http_status").is_between(200, 299).fill_null(value=False)
    | pl.any_horizontal(pl.col(name).is_not_null() for name in _TAKEN)
)

REJECTED_BUT_SERVED = Finding(
    code="rejected_but_served",
    weight="direct",
    needs=("rejected", "completion_tokens", "http_status", "decode_prompt_tokens"),
    expression=pl.col("rejected") & _SERVED & ~NOT_DELIVERED.expression.fill_null(value=False),
    meaning="a rejection was recorded, and an answer or decode's part in it all the same",
    does_not_prove="that the rejecting hop was the one whose pages were missing",
)
