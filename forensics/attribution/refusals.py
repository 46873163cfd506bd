"""Requests that were refused at the door: they reached no engine, so they held no pages.

A client that leaves early, a transfer that breaks or an answer that takes too long has written
pages all the same. So has whatever any log shows pages, a hand-off or work of: then the
status is of another try, or came later.
"""

from __future__ import annotations

from collections.abc import Collection

import polars as pl

_DOOR = (400, 498)
_NOT_AT_THE_DOOR = (408,)
"""The time was up: before the request came, or while it ran."""
_SIGNS = (
    *("reserved_at", "released_at", "reserved_pages", "reserved_tokens", "transferred_pages"),
    *("cached_tokens", "completion_tokens", "prefill_ms", "decode_prompt_tokens", "stale_pages"),
)
"""What only a request that ran has; a zero is no sign."""


def at_the_door(columns: Collection[str]) -> pl.Expr:
    """Say which requests an error status of a client's kind kept from every engine.

    Args:
        columns: of the frame of requests; what is not among them is not known.
    """
    signs = [(pl.col(name) > 0).fill_null(value=False) for name in _SIGNS if name in columns]
    return refused(columns) & ~pl.any_horizontal(pl.lit(value=False), *signs)


def refused(columns: Collection[str]) -> pl.Expr:
    """Say which requests were answered with an error status of a client's kind, by any engine.

    Args:
        columns: of the frame of requests; what is not among them is not known.
    """
    if "http_status" not in columns:
        return pl.lit(value=False)
    status = pl.col("http_status")
    said = status.is_between(*_DOOR) & ~status.is_in(_NOT_AT_THE_DOOR)
    return said.fill_null(value=False)
