"""Requests that were refused at the door: they reached no engine, so they held no pages.

A client that leaves early, a transfer that breaks or an answer that takes too long has written
pages all the same. So has whatever any log shows pages, a hand-off or work of: then the
status is of another try, or came later.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import polars as pl

_DOOR = (400, 498)
_NOT_AT_THE_DOOR = (408,)
"""The time was up: before the request came, or while it ran."""
_SIGNS = (
    *("reserved_at", "released_at", "reserved_pages", "reserved_tokens", "transferred_pages"),
    *("cached_tokens", "completion_tokens", "prefill_ms", "decode_prompt_tokens", "stale_pages"),
    *("prefill_tokens", "prefill_prompt_tokens"),
)
"""What only a request that ran has; a zero is no sign."""
_NAMED = ("transfer_id", "transfer_status")
"""Of a hand-off; who refuses a request at the door begins none."""
_ENDED = ("stop", "length", "tool_calls", "content_filter")
"""Why an answer ended that somebody computed."""


def at_the_door(columns: Collection[str]) -> pl.Expr:
    """Say which requests an error status of a client's kind kept from every engine.

    Args:
        columns: of the frame of requests; what is not among them is not known.
    """
    return refused(columns) & ~pl.any_horizontal(pl.lit(value=False), *_signs(columns))


def _signs(columns: Collection[str]) -> Iterator[pl.Expr]:
    """Yield what only a request has that reached an engine."""
    yield from ((pl.col(name) > 0).fill_null(value=False) for name in _SIGNS if name in columns)
    yield from (pl.col(name).is_not_null() for name in _NAMED if name in columns)
    yield answered(columns)


def answered(columns: Collection[str]) -> pl.Expr:
    """Say of which requests an answer was computed, by how it or its hand-off ended."""
    ends = [
        ("finish_reason", _ENDED),
        ("transfer_status", ("complete",)),
        ("stream_error", (True,)),
    ]
    said = [pl.col(name).is_in(values) for name, values in ends if name in columns]
    return pl.any_horizontal(pl.lit(value=False), *said).fill_null(value=False)


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
