"""Client records and engine requests of one size, in stretches of time without a pause.

Whatever could be one request lies in one run, so that each is settled by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from forensics.joins import direction
from forensics.joins.gaps import UNPAIRED_GAP

_CROWD = 256
"""Pairs of a run up to which each is looked at; in a crowd none is the only one."""
_LOOKED_AT = 64
"""Requests of a crowd that one record is held against."""


@dataclass(frozen=True)
class Point:
    """One client record or engine request."""

    key: int
    at: int
    tenant: str | None
    model: str | None
    delivered: bool | None
    begun: int | None
    ended: int | None

    def may_be(self, other: Point) -> bool:
        """Say whether a client record can be of a request: near and before it, nothing differs."""
        known = (
            (self.tenant, other.tenant),
            (self.model, other.model),
            (self.delivered, other.delivered),
        )
        near = abs(self.at - other.at) <= UNPAIRED_GAP
        before = direction.holds((self.begun, self.ended), (other.begun, other.ended))
        return near and before and all(a is None or b is None or a == b for a, b in known)


def runs(
    calls: pl.DataFrame, requests: pl.DataFrame, gap: int
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return both with ``run``, those alone that share one with something of the other kind.

    A pause of more than ``gap`` microseconds ends a run.
    """
    sizes = calls.select("size").join(requests.select("size").unique(), on="size", how="semi")
    points = pl.concat(
        [
            frame.join(sizes.unique(), on="size", how="semi").select(
                "handoff", "size", "at", call=pl.lit(call)
            )
            for frame, call in ((calls, True), (requests, False))
        ]
    ).sort("size", "at", "call", "handoff")
    pause = pl.col("at") - pl.col("at").shift(1) > gap
    cut = pause | (pl.col("size") != pl.col("size").shift(1))
    points = points.with_columns(run=cut.fill_null(value=False).cast(pl.UInt32).cum_sum())
    both = (pl.col("call").min() != pl.col("call").max()).over("run")
    points = points.filter(both)
    keys = points.select("handoff", "run")
    return calls.join(keys, on="handoff"), requests.join(keys, on="handoff")


def only_pairs(calls: pl.DataFrame, requests: pl.DataFrame, gap: int) -> pl.DataFrame:
    """Return ``call`` and ``handoff`` where each is the only one within ``gap`` microseconds.

    Attempts of one engine request count as one: a client record then speaks for each.
    """
    few = calls.group_by("run").len("calls").join(requests.group_by("run").len("own"), on="run")
    few = few.filter(pl.col("calls").cast(pl.Int64) * pl.col("own") <= _CROWD).select("run")
    pairs = calls.join(few, on="run", how="semi").join(requests, on="run")
    near = (pl.col("at") - pl.col("at_right")).abs() <= gap
    pairs = pairs.filter(
        near, direction.holding(), *(_compatible(name) for name in ("tenant", "model", "delivered"))
    ).select("handoff_right", "unit", call="handoff")
    one_request = pl.col("unit").n_unique().over("call") == 1
    one_call = pl.col("call").n_unique().over("unit") == 1
    return pairs.filter(one_request & one_call).select("call", handoff="handoff_right")


def _compatible(name: str) -> pl.Expr:
    return pl.col(name).eq(pl.col(f"{name}_right")).fill_null(value=True)


def in_order(
    calls: pl.DataFrame, requests: pl.DataFrame
) -> Iterator[tuple[list[Point], list[int]]]:
    """Yield the client records of each run that has a request for every one, and those requests.

    Both in order of time: which is which within a run is not known.
    """
    waiting = _points(requests)
    for run, own in sorted(_points(calls).items()):
        taken = _matched(own, waiting.get(run, []))
        if taken is not None:
            yield own, taken


def _matched(calls: list[Point], requests: list[Point]) -> list[int] | None:
    free = list(requests)
    taken = []
    for call in calls:
        while free and free[0].at < call.at - UNPAIRED_GAP:
            free.pop(0)
        at = next((n for n, r in enumerate(free[:_LOOKED_AT]) if call.may_be(r)), None)
        if at is None:
            return None
        taken.append(free.pop(at).key)
    return taken


_POINT = ("handoff", "at", "tenant", "model", "delivered", *direction.TIMES)


def _points(frame: pl.DataFrame) -> dict[int, list[Point]]:
    found: dict[int, list[Point]] = {}
    for run, *values in frame.sort("run", "at", "handoff").select("run", *_POINT).iter_rows():
        found.setdefault(run, []).append(Point(*values))
    return found
