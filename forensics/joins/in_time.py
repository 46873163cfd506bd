"""Client records without a size (a router's log has id, status and time): one to one in time."""

from __future__ import annotations

import polars as pl

from forensics.joins import direction
from forensics.joins.gaps import UNPAIRED_GAP

_Span = tuple[int | None, int | None]
Waiting = list[tuple[int, int, str | None, _Span]]
"""Time, key, tenant, and when it began and ended; in order of time."""


def in_time(calls: pl.DataFrame, requests: pl.DataFrame) -> list[tuple[int, int]]:
    """Return each record without a size for which there is a request, near in time, and that one.

    One to one in order of time, first where both say the same about delivery. A refusal
    stays: its status alone settles it, and it may never have reached an engine.
    """
    left = _by_delivery(calls)
    free = _by_delivery(requests)
    gone: list[tuple[int, int]] = []
    for said, found in _ANSWERS:
        gone += zipped(left[said], free[found])
    return sorted(gone)


_ANSWERS: tuple[tuple[bool | None, bool | None], ...] = (
    (True, True),
    (True, None),
    *((None, found) for found in (None, True, False)),
)
"""What a record and a request may say about delivery to stand for one, surest first."""


def _by_delivery(frame: pl.DataFrame) -> dict[bool | None, Waiting]:
    found: dict[bool | None, Waiting] = {True: [], False: [], None: []}
    names = ("delivered", "at", "handoff", "tenant", *direction.TIMES)
    for delivered, at, key, tenant, *times in frame.sort("at", "handoff").select(names).iter_rows():
        found[delivered].append((at, key, tenant, (times[0], times[1])))
    return found


def zipped(calls: Waiting, requests: Waiting) -> list[tuple[int, int]]:
    """Pair two lists in order of time, and leave in them what found nobody; return the keys."""
    pairs: list[tuple[int, int]] = []
    i = j = 0
    while i < len(calls) and j < len(requests):
        (at, _, tenant, call), (began, _, owner, request) = calls[i], requests[j]
        other = bool(tenant and owner and tenant != owner) or not direction.holds(call, request)
        if began < at - direction.SLACK:
            j += 1
        elif began > at + UNPAIRED_GAP or other:
            i += 1
        else:
            pairs.append((i, j))
            i, j = i + 1, j + 1
    found = [(calls[i][1], requests[j][1]) for i, j in pairs]
    for values, taken in ((calls, {i for i, _ in pairs}), (requests, {j for _, j in pairs})):
        values[:] = [value for n, value in enumerate(values) if n not in taken]
    return found
