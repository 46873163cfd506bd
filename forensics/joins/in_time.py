"""Client records without a size (a router's log has id, status and time): one to one in time."""

from __future__ import annotations

import polars as pl

from forensics.joins.gaps import UNPAIRED_GAP

_Waiting = list[tuple[int, int, str | None]]
"""Time, key and tenant, in order of time."""


def in_time(calls: pl.DataFrame, requests: pl.DataFrame) -> list[int]:
    """Return the keys of records without a size for which there is a request each, near in time.

    One to one in order of time, first where both say the same about delivery. A refusal
    stays: its status alone settles it, and it may never have reached an engine.
    """
    left = _by_delivery(calls)
    free = _by_delivery(requests)
    gone: list[int] = []
    for said, found in _ANSWERS:
        gone += _zipped(left[said], free[found])
    return sorted(gone)


_ANSWERS: tuple[tuple[bool | None, bool | None], ...] = (
    (True, True),
    (True, None),
    *((None, found) for found in (None, True, False)),
)
"""What a record and a request may say about delivery to stand for one, surest first."""


def _by_delivery(frame: pl.DataFrame) -> dict[bool | None, _Waiting]:
    found: dict[bool | None, _Waiting] = {True: [], False: [], None: []}
    rows = frame.sort("at", "handoff").select("delivered", "at", "handoff", "tenant").iter_rows()
    for delivered, *values in rows:
        found[delivered].append(tuple(values))
    return found


def _zipped(calls: _Waiting, requests: _Waiting) -> list[int]:
    """Pair two lists in order of time, and leave in them what found nobody."""
    pairs: list[tuple[int, int]] = []
    i = j = 0
    while i < len(calls) and j < len(requests):
        (at, _, tenant), (began, _, owner) = calls[i], requests[j]
        if began < at - UNPAIRED_GAP:
            j += 1
        elif began > at + UNPAIRED_GAP or (tenant and owner and tenant != owner):
            i += 1
        else:
            pairs.append((i, j))
            i, j = i + 1, j + 1
    gone = [calls[i][1] for i, _ in pairs]
    for values, taken in ((calls, {i for i, _ in pairs}), (requests, {j for _, j in pairs})):
        values[:] = [value for n, value in enumerate(values) if n not in taken]
    return gone
