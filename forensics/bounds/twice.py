"""Requests that two records may both stand for: by how many a count is high.

One is a client's and the other an engine's, or both are of one side, in logs of two formats. Where
their ids do not tell which is which, both are listed (see :mod:`forensics.claimants` and
:mod:`forensics.otherlogs`), and one response counts twice.

Client records and engines' requests of one size and time are held against each other, one to one
in order of time. What is certain counts by its larger side alone, however far apart clocks may be.
The highest count is lowered only where the logs of one side lack nothing that is known of: each
record of the other side is then one of that side's as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from forensics.joins import direction
from forensics.joins.gaps import UNKNOWN_GAP, UNPAIRED_GAP
from forensics.schema import AFFECTED_TIERS
from forensics.verdicts import flag

CERTAIN = ("confirmed", "probable")
_Points = dict[int | None, list[int]]


@dataclass(frozen=True)
class Twice:
    """How many of the certain, the listed and of all that is counted may be one with another.

    ``counted`` is 0 where it is not known to be so of any.
    """

    certain: int = 0
    listed: int = 0
    counted: int = 0


def twice(
    judged: pl.DataFrame, open_: pl.DataFrame, lacking: pl.DataFrame, twins: pl.DataFrame
) -> Twice:
    """Return how many requests may be counted twice.

    A row may be taken off the highest count for either reason, but for both only once.

    Args:
        judged: requests with their tiers.
        open_: what joins did not settle, of :mod:`forensics.joins.unsettled`.
        lacking: ``handoff`` and ``hop`` of requests of which a hop's logs hold no record.
        twins: of :func:`forensics.otherlogs.twins`.
    """
    first, second = _sides(judged, open_, lacking), _logs(judged, twins)
    return Twice(
        certain=first.certain + second.certain,
        listed=first.listed + second.listed,
        counted=max(first.counted, second.counted),
    )


def _logs(judged: pl.DataFrame, twins: pl.DataFrame) -> Twice:
    """Return how many may be counted twice since two logs of one side hold them."""
    if not twins.height:
        return Twice()
    tiers = dict(judged.select("handoff", "tier").iter_rows())
    only = twins.filter(pl.col("handoff").is_unique() & pl.col("other").is_unique())
    only = only.filter(~pl.col("handoff").is_in(only["other"].implode()))
    sure, listed = (_among(twins, tiers, some) for some in (CERTAIN, AFFECTED_TIERS))
    return Twice(certain=sure, listed=listed, counted=int(only["answer"].sum()))


def _among(twins: pl.DataFrame, tiers: dict[int, str], some: tuple[str, ...]) -> int:
    """Return of how many rows of some tiers another of them may be the same."""
    rows = [
        pair
        for pair in twins.select("handoff", "other").iter_rows()
        if all(tiers.get(key) in some for key in pair)
    ]
    return min(len({first for first, _ in rows}), len({other for _, other in rows}))


def _sides(judged: pl.DataFrame, open_: pl.DataFrame, lacking: pl.DataFrame) -> Twice:
    """Return how many may be counted twice by a client's record and an engine's."""
    if not open_["call"].any() or open_["call"].all():
        return Twice()
    known = judged.select("handoff", "tier", stopped=flag("not_delivered"))
    rows = open_.join(known, on="handoff", how="left")
    rows = rows.filter(~(pl.col("call") & pl.col("stopped").fill_null(value=False)))
    hidden = pl.col("tier").is_null() & (pl.col("aside") > 0)
    counted = rows.filter(hidden | pl.col("tier").is_in([*AFFECTED_TIERS, "not_assessable"]))
    return Twice(
        certain=_pairs(rows.filter(pl.col("tier").is_in(CERTAIN)), UNKNOWN_GAP),
        listed=_pairs(rows.filter(pl.col("tier").is_in(AFFECTED_TIERS)), UNPAIRED_GAP),
        counted=_surplus(counted, *_whole(rows, lacking)),
    )


def _surplus(counted: pl.DataFrame, gateways: bool, engines: bool) -> int:
    """Return of how many requests both records are counted, where one side's logs are whole."""
    if engines:
        return int(counted["call"].sum())
    return _pairs(counted, UNPAIRED_GAP) if gateways else 0


def _whole(rows: pl.DataFrame, lacking: pl.DataFrame) -> tuple[bool, bool]:
    """Say whether gateways' logs, and engines', hold whatever the other side's prove."""
    paired = _pairs(rows, UNPAIRED_GAP)
    others = lacking.join(rows, on="handoff", how="anti")
    gateway = others["hop"] == "gateway"
    requests, calls = (
        int(rows.select(side.sum()).item()) for side in (~pl.col("call"), pl.col("call"))
    )
    return paired == requests and not gateway.any(), paired == calls and bool(gateway.all())


def _pairs(rows: pl.DataFrame, gap: int) -> int:
    """Return how many pairs of a client's record and an engine's there can be."""
    calls, requests = (_points(rows.filter(side)) for side in (pl.col("call"), ~pl.col("call")))
    any_call, any_request = calls.pop(None, []), requests.pop(None, [])
    found = sum(_matched(own, requests.get(size, []), gap) for size, own in calls.items())
    found += _matched(any_call, _every(requests), gap)
    return found + _matched(sorted([*any_call, *_every(calls)]), any_request, gap)


def _every(points: _Points) -> list[int]:
    return sorted(at for own in points.values() for at in own)


def _points(rows: pl.DataFrame) -> _Points:
    found: _Points = {}
    for size, at in rows.select("size", "at").sort("size", "at").iter_rows():
        found.setdefault(size, []).append(at)
    return found


def _matched(calls: list[int], requests: list[int], gap: int) -> int:
    """Pair two lists in order of time, take what is paired out of both, and count it."""
    before = max(gap, direction.SLACK)
    left: tuple[list[int], list[int]] = ([], [])
    found = i = j = 0
    while i < len(calls) and j < len(requests):
        if requests[j] < calls[i] - before:
            left[1].append(requests[j])
            j += 1
        elif requests[j] > calls[i] + gap:
            left[0].append(calls[i])
            i += 1
        else:
            found, i, j = found + 1, i + 1, j + 1
    calls[:], requests[:] = [*left[0], *calls[i:]], [*left[1], *requests[j:]]
    return found
