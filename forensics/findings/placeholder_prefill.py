"""Prefill worked on something shorter than what decode answered."""

from __future__ import annotations

import polars as pl

from forensics.findings.base import DECODE_SIDE, Finding

_PREFILL = pl.col("prefill_prompt_tokens")
_PAGE = pl.col("page_tokens")
_COMPUTED = pl.col("prefill_tokens") + pl.col("cached_tokens")
_RESERVED = pl.coalesce("reserved_tokens", pl.col("reserved_pages") * _PAGE, DECODE_SIDE)

_ONE_FOR_MANY = (_PREFILL == 1) & (DECODE_SIDE > 1)
_PAGE_LESS = (pl.col("decode_prompt_tokens") - _PREFILL) >= _PAGE
_PAGE_NOT_COMPUTED = (_RESERVED - _COMPUTED) >= _PAGE

PLACEHOLDER_PREFILL = Finding(
    code="placeholder_prefill",
    weight="direct",
    needs=("prefill_prompt_tokens", "decode_prompt_tokens"),
    expression=_ONE_FOR_MANY.fill_null(value=False)
    | _PAGE_LESS.fill_null(value=False)
    | _PAGE_NOT_COMPUTED.fill_null(value=False),
    meaning="prefill counted or computed at least a page less than decode, or 1 against more",
    does_not_prove="whose data lay in the pages that were read",
)
