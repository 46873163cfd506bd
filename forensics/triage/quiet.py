"""What a record shows by itself: that nothing of it can matter, but for limit and page size.

Stricter than the findings: where one of them could fire for any page size, or the figures
leave room, the row is kept. Limit and page are not known where a row is counted, so counts
keep the longest prompt and the smallest page that would make a difference.
"""

from __future__ import annotations

import polars as pl

from forensics.warmups import TOKENS

NEEDED = (
    "request_id",
    "transfer_id",
    "received_at",
    "prefill_node",
    "prompt_tokens",
    "prefill_prompt_tokens",
    "decode_prompt_tokens",
    "cached_tokens",
    "prefill_tokens",
    "reserved_pages",
    "transferred_pages",
    "transfer_status",
    "rejected",
    "rejection_code",
    "hop",
    "naive",
)
"""Columns that are read of every row."""

_CLIENT, _PREFILL, _DECODE = (
    pl.col(name) for name in ("prompt_tokens", "prefill_prompt_tokens", "decode_prompt_tokens")
)
_SIDE = pl.coalesce("decode_prompt_tokens", "prompt_tokens")
_COMPUTED = pl.col("prefill_tokens") + pl.col("cached_tokens")
_RESERVED, _ARRIVED = pl.col("reserved_pages"), pl.col("transferred_pages")

PROMPT = pl.max_horizontal("prompt_tokens", "decode_prompt_tokens", "prefill_prompt_tokens")
"""The largest count of the prompt: what is held against a limit."""

COMPLETE = (
    (_RESERVED.is_not_null() & _ARRIVED.is_not_null())
    | (_PREFILL.is_not_null() & _DECODE.is_not_null())
).alias("complete")
"""Of a quiet row: both sides have the figure, and they are equal, so that no limit is asked."""

PAGE = (
    pl.when((_RESERVED > 1) & _COMPUTED.is_not_null())
    .then((_COMPUTED + _RESERVED - 2) // (_RESERVED - 1))
    .alias("page")
)
"""From which page size on prefill computed a page less than decode reserved; null for none."""


def _same(one: pl.Expr, other: pl.Expr) -> pl.Expr:
    return (one == other).fill_null(value=True)


QUIET = pl.all_horizontal(
    pl.col("received_at").is_not_null(),
    (_SIDE > TOKENS).fill_null(value=False),
    _same(_CLIENT, _DECODE),
    _same(_PREFILL, _SIDE),
    _same(_RESERVED, _ARRIVED),
    (_COMPUTED >= _SIDE).fill_null(value=True),
    ~pl.col("rejected").fill_null(value=False),
    pl.col("rejection_code").is_null(),
    (pl.col("transfer_status") == "complete").fill_null(value=True),
)
"""Neither evidence nor doubt in the record; a probe's few tokens are no quiet row."""

ODD = (
    pl.col("request_id").is_null()
    | pl.col("hop").is_not_null()
    | pl.col("naive").fill_null(value=False)
)
"""One of several records of a request, or a time of no zone: such a set is not taken on."""
