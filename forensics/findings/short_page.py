"""Prefill's tokens fill a page fewer than decode's, though they are few fewer than a page."""

from __future__ import annotations

import polars as pl

from forensics.findings.base import Finding
from forensics.findings.short_tail import LESS_THAN_A_PAGE

_PAGE = pl.col("page_tokens")


def _pages(tokens: str) -> pl.Expr:
    return (pl.col(tokens) + _PAGE - 1) // _PAGE


CROSSES = (
    LESS_THAN_A_PAGE & (_pages("prefill_prompt_tokens") < _pages("decode_prompt_tokens"))
).fill_null(value=False)

SHORT_PAGE = Finding(
    code="short_page",
    weight="circumstantial",
    needs=("prefill_prompt_tokens", "decode_prompt_tokens"),
    expression=CROSSES,
    meaning=(
        "prefill counted fewer tokens than decode, by less than a page, but they fill a page "
        "fewer: decode's last page was not prefill's to write"
    ),
    does_not_prove="that both count alike: engines differ by a token or two of one prompt",
)
