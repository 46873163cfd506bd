"""A client record is the hop before: it begins before the engine's request and ends after it.

Two clocks say so, and the way between the nodes takes time: what they contradict each other
by less than counts as no contradiction.
"""

from __future__ import annotations

import polars as pl

from forensics import skew

SLACK = skew.FAR
"""By so much the two clocks may contradict the direction, microseconds."""
TIMES = ("begun", "ended")
"""When each began and ended, microseconds; null where that is not known."""


def of_calls(calls: pl.DataFrame) -> pl.DataFrame:
    """Add :data:`TIMES` to client records; a client that went away ends before the engine does."""
    waited = pl.col("delivered").is_not_null()
    return calls.with_columns(begun="at", ended=pl.when(waited).then("finished_at"))


def of_requests(requests: pl.DataFrame, delay: pl.Expr) -> pl.DataFrame:
    """Add :data:`TIMES` to engine requests, on the clock of the client records.

    Args:
        requests: with ``at``, ``at_end`` (``at`` is the end) and ``finished_at``.
        delay: by how much later the engine's clock shows the same, microseconds.
    """
    end = pl.coalesce("finished_at", pl.when("at_end").then("at"))
    begun = pl.when(~pl.col("at_end")).then("at")
    return requests.with_columns(begun=begun - delay, ended=end - delay)


def holds(call: tuple[int | None, int | None], request: tuple[int | None, int | None]) -> bool:
    """Say whether a client record's times allow it to be the hop before a request."""
    (since, until), (begun, ended) = call, request
    return not (_later(since, begun) or _later(since, ended) or _later(ended, until))


def _later(one: int | None, other: int | None) -> bool:
    return one is not None and other is not None and one > other + SLACK


def holding(call: str = "", request: str = "_right") -> pl.Expr:
    """Say the same of joined rows, by the suffix that each side's columns have."""
    since, until = (pl.col(f"{name}{call}") for name in TIMES)
    begun, ended = (pl.col(f"{name}{request}") for name in TIMES)
    pairs = ((since, begun), (since, ended), (ended, until))
    return ~pl.any_horizontal((one > other + SLACK).fill_null(value=False) for one, other in pairs)
