"""When a request came: what the client's side says, else an engine, else the earliest time logged.

Who logs a request at its end, or while it waits or runs, bounds the arrival from above
only. Such a time is kept for want of a better one, and marked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import polars as pl

from forensics.schema import ENGINE_HOP, TIMED_LATE, Column

ARRIVED = Column("arrived_at", "time", "arrival, where the record's time is one")
"""Column of an observation while it is folded; none leaves the package."""
BEFORE_LOGGED = "before_logged"
"""Column of a request that came to prefill some time, and maybe some boots, before its time.

A record of prefill's own is by the boot that took the request, whenever it was written.
"""
LONGEST = 86_400_000_000
"""Microseconds that no answer takes."""
EARLIEST = "earliest_at"
"""Column of the earliest time of any engine; one clock before the window's end is enough."""
CLIENT = ("gateway", "joined")
"""Hops whose arrival is the request's, whatever engines logged."""
ENGINES = ("decode", ENGINE_HOP, "prefill")
"""The others, in the order in which their arrivals are believed."""
_HOPS = (*CLIENT, *ENGINES)


def told(joined: pl.DataFrame) -> pl.DataFrame:
    """Add :data:`ARRIVED` where some record's ``received_at`` is no arrival."""
    if TIMED_LATE not in joined.columns or "received_at" not in joined.columns:
        return joined
    late = pl.col(TIMED_LATE).fill_null(value=False)
    return joined.with_columns(pl.when(~late).then("received_at").alias(ARRIVED.name))


def folded(columns: Collection[str]) -> list[pl.Expr]:
    """Return ``received_at`` and the columns that say how far it is one, of folded requests.

    Args:
        columns: names ``column@hop``; each is the earliest of its hop.
    """
    arrived = ARRIVED.name if _of(ARRIVED.name, _HOPS, columns) else "received_at"
    client, came = _of(arrived, CLIENT, columns), _of(arrived, ENGINES, columns)
    engines = _of("received_at", ENGINES, columns)
    if arrived == "received_at":
        never = pl.lit(value=False)
        doubts = [never.alias(TIMED_LATE), never.alias(BEFORE_LOGGED)]
        return [_first([*client, *came]).alias("received_at"), *doubts, _earliest(client, engines)]
    known, seen = _first([*client, *came]), _of("received_at", _HOPS, columns)
    at = pl.coalesce([*client, *came, pl.min_horizontal(seen)]) if seen else known
    late = known.is_null() & at.is_not_null()
    by_prefill = _first(_of("received_at", ["prefill"], columns)).is_not_null()
    doubts = [late.alias(TIMED_LATE), (late & ~by_prefill).alias(BEFORE_LOGGED)]
    return [at.alias("received_at"), *doubts, _earliest(client, engines)]


def _of(name: str, hops: Iterable[str], columns: Collection[str]) -> list[pl.Expr]:
    return [pl.col(f"{name}@{hop}") for hop in hops if f"{name}@{hop}" in columns]


def _first(times: list[pl.Expr]) -> pl.Expr:
    if len(times) == 1:
        return times[0]  # shares the column's memory
    return pl.coalesce(times) if times else pl.lit(None, dtype=pl.Int64)


def _earliest(client: list[pl.Expr], engines: list[pl.Expr]) -> pl.Expr:
    """The earliest time of engines that differ, where no client's says when it was."""
    nothing = pl.lit(None, dtype=pl.Int64)
    if len(engines) < 2:
        return nothing.alias(EARLIEST)
    return pl.when(_first(client).is_null()).then(pl.min_horizontal(engines)).alias(EARLIEST)
