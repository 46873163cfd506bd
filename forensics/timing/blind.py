"""Where times cannot decide, in a sentence for each source of times and each node."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from forensics.timing.baseline import LEAST_REQUESTS
from forensics.timing.doubts import DOUBTS
from forensics.timing.silent import REASONS
from forensics.timing.stage import UNKNOWN_SOURCE, Timing
from forensics.wording import count

_MOST = 20
"""Nodes that are named."""
_WHY = {
    "no_prompt": ("lacks its prompt tokens", "lack their prompt tokens"),
    "no_cached": ("lacks its cached tokens", "lack their cached tokens"),
    "nothing_left": ("has counts", "have counts"),
    "few": ("is of a model", "are of a model"),
    "alike": ("is of a model", "are of a model"),
    "shifted": ("ran", "ran"),
}
_MORE = {
    "nothing_left": "that leave no token to compute",
    "few": f"with fewer than {LEAST_REQUESTS} such requests: too few to know what is usual",
    "alike": "whose prompts are of too few different lengths to know what is usual",
    "shifted": "at another pace than the node's, with too few at that pace to know what is usual",
}


def sentences(timing: Timing) -> Iterator[str]:
    """Yield what cannot be told from the times of each source, and for which prompts."""
    if not timing.sources.height:
        yield "No record has a prefill time: timing cannot decide anything here."
    if timing.unusable:
        have = "has" if timing.unusable == 1 else "have"
        yield (
            f"{count(timing.unusable, 'request')} {have} a prefill time of zero, or one that no "
            "prefill takes: timing cannot decide those."
        )
    for row in timing.sources.iter_rows(named=True):
        yield from _of_source(row)
    yield from _of_nodes(timing)
    yield from _of_unlike(timing)
    yield from _of_paces(timing)


def _of_source(row: dict[str, Any]) -> Iterator[str]:
    """Say why some or all requests of one source were not held against what is usual."""
    parts = [_part(name, row[name]) for name in _WHY if row[name]]
    if not parts:
        return
    timed = f"{row['source']}: of {count(row['requests'], 'request')} with a prefill time"
    where = "those" if row["tested"] else "there"
    yield f"{timed}, {'; '.join(parts)}: timing cannot decide {where}."


def _part(name: str, number: int) -> str:
    verb = _WHY[name][number != 1]
    return " ".join(part for part in (f"{number:,}", verb, _MORE.get(name)) if part)


def _of_nodes(timing: Timing) -> Iterator[str]:
    """Say how many prompts over the limit no time could have shown, on which node, and why."""
    rows = timing.silent.sort(
        "requests", "source", "node", "reason", descending=[True] + [False] * 3
    )
    for source, node, reason, requests, over in rows.head(_MOST).iter_rows():
        yield (
            f"{source or UNKNOWN_SOURCE}, {node or 'unknown node'}: of "
            f"{count(over, 'prompt')} over the limit with a prefill time, {requests:,} could not "
            f"be told by it, since {REASONS[reason]}. That none of these is too fast clears nobody."
        )
    rest = rows.slice(_MOST)
    if rest.height:
        yield (
            f"On other nodes, {int(rest['requests'].sum()):,} more prompts over the limit could "
            "not be told by their prefill times either."
        )


def _of_unlike(timing: Timing) -> Iterator[str]:
    """Say how many are far too fast for their tokens and are not called so, and why."""
    order = ("requests", "source", "node", "reason")
    rows = timing.unlike.sort(order, descending=[True, False, False, False])
    for source, node, reason, requests in rows.head(_MOST).iter_rows():
        yield (
            f"{source or UNKNOWN_SOURCE}, {node or 'unknown node'}: {count(requests, 'request')} "
            f"took far less time than their tokens need, {DOUBTS[reason]}. Whether they were "
            "computed, times cannot tell."
        )
    rest = rows.slice(_MOST)
    if rest.height:
        yield f"The same of {count(int(rest['requests'].sum()), 'request')} of other nodes."


def _of_paces(timing: Timing) -> Iterator[str]:
    """Say which nodes were faster or slower as a whole for a while."""
    for source, node, side, first, last, requests in timing.paces.head(_MOST).iter_rows():
        begin, end = _utc(first), _utc(last)
        yield (
            f"{source or UNKNOWN_SOURCE}, {node or 'unknown node'}: {count(requests, 'request')} "
            f"from {begin} to {end} took {_PACE[side]} than the node's others, prompts of all "
            "lengths, as after a change of hardware or settings: they are judged among themselves. "
            "Had none of them been computed, times could not tell."
        )
    rest = timing.paces.slice(_MOST)
    if rest.height:
        yield f"The same of {count(rest.height, 'more time')} in which nodes ran at another pace."


_PACE = {-1: "far less time", 1: "far longer"}


def _utc(moment: int) -> str:
    return f"{datetime.fromtimestamp(moment / 1e6, tz=UTC):%Y-%m-%d %H:%M} UTC"
