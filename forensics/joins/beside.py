"""What is left of a request whose decode record was lost: a client's record and prefill's.

Only decode's record has both ids. Without it the two stay apart, and one request would count
twice. Prefill's record joins a client's by inference where it is evidence by itself, and each is
the only one that the other can be. Of the others a client's stands for one of prefill's, one to
one in order of time: it has the tenant, the length and the answer, and prefill's alone shows
nothing, so that it is set aside and counted. A client's refusal stands for none: it may never
have reached an engine, and would clear whoever it stood for. Such a request counts twice.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection
from dataclasses import dataclass

import polars as pl

from forensics.joins.gaps import NEAR_GAP
from forensics.joins.in_time import Waiting, zipped

_POINT = ("at", "handoff", "tenant", "begun", "ended")


@dataclass(frozen=True)
class Beside:
    """Keys of prefill's records and the client's: what joins what, and is set aside for what."""

    near: dict[int, int]
    stood: dict[int, int]


def beside(models: Collection[str] | None, calls: pl.DataFrame, requests: pl.DataFrame) -> Beside:
    """Return which records may be of one request whose decode record was lost.

    Args:
        models: that engines are known to serve; None where decode logged nothing.
        calls: client records without a pair, of :func:`forensics.joins.candidates.calls`.
        requests: engine requests without one, with ``remnant`` and ``shows``.
    """
    remnants = requests.filter("remnant")
    if not remnants.height or models is None:
        return Beside({}, {})
    calls = calls.filter(_served(models), pl.col("delivered").fill_null(value=True))
    shows = set(remnants.filter("shows")["handoff"])
    pairs = _only(calls, remnants)
    near = {key: call for call, key in pairs if key in shows}
    left = calls.filter(~pl.col("handoff").is_in(list(near.values())))
    pairs = _in_order(left, remnants.filter(~pl.col("shows")))
    return Beside(near, {key: call for call, key in pairs})


def _only(calls: pl.DataFrame, requests: pl.DataFrame) -> list[tuple[int, int]]:
    """Return the pairs of which each is the only one within seconds of the other.

    Where both sides counted the prompt and their counts differ, they are of two requests.
    """
    ours, theirs = (_points(frame.sort("at", "handoff")) for frame in (calls, requests))
    size = {**_sizes(calls), **_sizes(requests)}
    found = []
    for key, at in theirs:
        near = _around(ours, at)
        if len(near) == 1 and len(_around(theirs, near[0][1])) == 1:
            found.append((near[0][0], key))
    return [pair for pair in found if len({size[key] for key in pair} - {None}) < 2]


def _sizes(frame: pl.DataFrame) -> dict[int, int | None]:
    return dict(frame.select("handoff", "size").iter_rows())


def _points(frame: pl.DataFrame) -> list[tuple[int, int]]:
    return list(frame.select("handoff", "at").iter_rows())


def _around(points: list[tuple[int, int]], at: int) -> list[tuple[int, int]]:
    def time(point: tuple[int, int]) -> int:
        return point[1]

    first = bisect_left(points, at - NEAR_GAP, key=time)
    return points[first : bisect_right(points, at + NEAR_GAP, key=time)]


def _in_order(calls: pl.DataFrame, requests: pl.DataFrame) -> list[tuple[int, int]]:
    left, free = _by_size(calls), _by_size(requests)
    found = [pair for size in left if size for pair in zipped(left[size], free.get(size, []))]
    rest = sorted((point for points in left.values() for point in points), key=lambda p: p[:2])
    return found + zipped(rest, free.get(None, []))


def _by_size(frame: pl.DataFrame) -> dict[int | None, Waiting]:
    found: dict[int | None, Waiting] = {}
    rows = frame.sort("at", "handoff").select("size", *_POINT).iter_rows()
    for size, at, key, tenant, begun, ended in rows:
        found.setdefault(size, []).append((at, key, tenant, (begun, ended)))
    return found


def _served(models: Collection[str]) -> pl.Expr:
    """Say which client records are of a model that these engines serve, as far as it is known."""
    if not models:
        return pl.lit(value=True)
    return pl.col("model").is_in(sorted(models)).fill_null(value=True)
