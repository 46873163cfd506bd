"""Requests that an engine only counts: those of a count that no line names.

Each ten seconds vLLM says how many requests ended with answers of invalid numbers, how many
hand-offs prefill gave up, and how many of those were fetched all the same. Where it gives one
up or sees it fetched, a line of its own names it, and each such line is one of a count near it.
An answer of invalid numbers is named nowhere: a request of that server with evidence of its own
that ended near it may be the one. What is left may each be a further affected response.
"""

from __future__ import annotations

from bisect import bisect_left

import polars as pl

from forensics.capacity import server_of
from forensics.matching import NEAR, shown

CORRUPTED, EXPIRED, READ_LATE = "corrupted", "expired", "read_late"
COUNTED = (CORRUPTED, EXPIRED, READ_LATE)
"""Kinds of line that count requests: any other stands for one."""


def settle(lines: pl.DataFrame, requests: pl.DataFrame) -> pl.DataFrame:
    """Return the counts, with the ``requests`` of each that nothing names.

    Args:
        lines: of the kinds of :data:`COUNTED`, in their order: those that count, and those
            that are ``named``.
        requests: one row per request, with limits attached.
    """
    naming = pl.col("named").fill_null(value=False)
    counts = lines.filter(~naming & pl.col("requests").is_not_null())
    if not counts.height:
        return counts
    named: dict[tuple[str, str], list[int]] = {}
    for kind, node, at in lines.filter(naming).select("kind", "node", "at").iter_rows():
        named.setdefault((kind, server_of(node or "")), []).append(at or 0)
    if counts["kind"].is_in([CORRUPTED]).any():
        for node, at in shown(requests).iter_rows():
            named.setdefault((CORRUPTED, server_of(node)), []).append(at)
    for times in named.values():
        times.sort()
    left = [
        number - _taken(named.get((kind, server_of(node or "")), []), at or 0, number)
        for kind, node, at, number in counts.select("kind", "node", "at", "requests").iter_rows()
    ]
    return counts.with_columns(requests=pl.Series(left, dtype=pl.Int64))


def _taken(times: list[int], at: int, number: int) -> int:
    """Take up to so many of the times near a count, and return how many there were."""
    first = bisect_left(times, at - NEAR)
    last = bisect_left(times, at + NEAR + 1)
    taken = min(number, last - first)
    del times[first : first + taken]
    return taken
