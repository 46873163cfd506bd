"""Columns of an observation: on which side of a hand-off an engine saw a request, and when."""

from __future__ import annotations

import polars as pl

from forensics.schema import ENGINE_HOP, TIMED_LATE

LATE = pl.lit(value=True).alias(TIMED_LATE)
"""Column of a line that is printed when the request has been there for a while."""


def on(side: str, name: pl.Expr, *more: pl.Expr) -> list[pl.Expr]:
    """Return the columns of a line that only one side prints.

    Args:
        side: ``prefill`` or ``decode``. Such a line is from within the request.
        name: the client's id.
        more: what else the line holds.
    """
    return [
        name.alias("request_id"),
        pl.col("local").alias("received_at"),
        LATE,
        pl.col("identity").alias(f"{side}_node"),
        pl.lit(side).alias("hop"),
        *more,
    ]


def either(name: pl.Expr, *more: pl.Expr, moment: str = "received_at") -> list[pl.Expr]:
    """Return the columns of a line that does not say on which side the engine stands.

    Args:
        name: the client's id.
        more: what else the line holds.
        moment: which time the line's own is.
    """
    return [
        name.alias("request_id"),
        pl.col("local").alias(moment),
        pl.col("identity").alias("prefill_node"),
        pl.col("identity").alias("decode_node"),
        pl.lit(ENGINE_HOP).alias("hop"),
        *more,
    ]
