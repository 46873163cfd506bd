"""Client records and engines' requests that may be one another's, and nothing tells which.

A client's record that could be of several requests names a tenant that one of them may have. Who
has to be told of a response must not hang on which of them it is, so both sides are kept for
later stages: when each was, on the gateway's clock, and its size.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import polars as pl

UNSETTLED: dict[str, pl.DataType] = {
    "handoff": pl.UInt32(),
    "call": pl.Boolean(),
    "at": pl.Int64(),
    "size": pl.Int64(),
    "wide": pl.Boolean(),
    "aside": pl.UInt32(),
}
"""``call`` says that it is a client's record, ``wide`` that nothing tells how far its clock is from
the gateway's, ``aside`` how many records of it were set aside (0: it is a request of its own)."""


@dataclass(frozen=True)
class Taken:
    """Keys of calls and requests that joined, or that are requests no longer."""

    calls: Collection[int]
    requests: Collection[int]


def unsettled(
    calls: pl.DataFrame, requests: pl.DataFrame, taken: Taken, aside: dict[int, int]
) -> pl.DataFrame:
    """Return what is not settled, under :data:`UNSETTLED`.

    Args:
        calls: client records, of :func:`forensics.joins.candidates.calls`.
        requests: engines' requests, on the same clock, with ``wide``.
        taken: what is settled.
        aside: how many records of each client record were set aside.
    """
    put = pl.col("handoff").replace_strict(
        list(aside) or [0], list(aside.values()) or [0], default=0, return_dtype=pl.UInt32
    )
    own = calls.filter(~pl.col("handoff").is_in(list(taken.calls)))
    others = requests.filter(~pl.col("handoff").is_in(list(taken.requests)))
    no = pl.lit(value=False)
    found = [
        own.with_columns(call=pl.lit(value=True), wide=no, aside=put),
        others.with_columns(call=no, aside=pl.lit(0)),
    ]
    rows = [
        one.select(pl.col(name).cast(kind) for name, kind in UNSETTLED.items()) for one in found
    ]
    return pl.concat(rows).sort("handoff")


def nothing() -> pl.DataFrame:
    """Return no rows under :data:`UNSETTLED`."""
    return pl.DataFrame(schema=UNSETTLED)
