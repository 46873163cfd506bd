"""Hand-offs in one room that are whole without a health check that has the room as well.

All health checks have room 0, and so may a request that is sent to an engine directly.
"""

from __future__ import annotations

import polars as pl

_SIDES = ("prefill", "decode")
_OF = ["transfer_id", "size"]
_APART = 60_000_000
"""Microseconds within which both sides of a hand-off begin: one waits for the other."""


def answered(real: pl.DataFrame, rooms: pl.Series) -> pl.Series:
    """Return the rooms in which each record has its other side, of its size and time.

    Args:
        real: records that are no probes, with ``transfer_id``, ``hop``, ``size`` and
            ``received_at``, microseconds.
        rooms: those of health checks.
    """
    rows = real.filter(pl.col("transfer_id").is_in(rooms.unique().implode())).with_row_index("row")
    there = [_with_other(rows, *sides) for sides in (_SIDES, _SIDES[::-1])]
    prefill, decode = ((pl.col("hop") == side).sum().over(_OF) for side in _SIDES)
    whole = pl.col("row").is_in(pl.concat(there).implode()) & (prefill == decode)
    told = rows.with_columns(whole=whole).group_by("transfer_id").agg(pl.col("whole").all())
    return told.filter("whole")["transfer_id"]


def _with_other(rows: pl.DataFrame, side: str, other: str) -> pl.Series:
    """Return the rows of a side near whose time the other side has one of the same size."""
    known = rows.drop_nulls([*_OF, "received_at"]).sort("received_at")
    mine, theirs = (known.filter(pl.col("hop") == one) for one in (side, other))
    near = mine.join_asof(
        theirs.select(*_OF, "received_at", other="row"),
        on="received_at",
        by=_OF,
        strategy="nearest",
        tolerance=_APART,
        check_sortedness=False,
    )
    return near.drop_nulls("other")["row"]
