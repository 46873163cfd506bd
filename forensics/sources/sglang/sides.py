"""Which side of a hand-off logged an answer, as far as the answer's shape tells it.

Neither a request log nor an exporter says where it was written. Prefill ends a
handed-off request with ``length`` and length 0, whether it computed the prompt or a
placeholder of one token. An answer that stopped or reached a real length is decode's.
A shape is no proof (decode answers so to a request for no tokens): the role of the node
goes before it, once all logs are read. The rest (aborts, arrivals) is told by that role or
by its pair.
"""

from __future__ import annotations

import polars as pl

from forensics.schema import ENGINE_HOP


def side(*, finished: pl.Expr, reason: pl.Expr, length: pl.Expr, room: pl.Expr) -> pl.Expr:
    """Return the side that each record has the shape of.

    Args:
        finished: whether the record is of an answer, not of an arrival.
        reason: ``stop``, ``length``, ``abort`` or null.
        length: the length that goes with the reason ``length``.
        room: ``bootstrap_room``, null where nothing was handed off.
    """
    handed_off = (reason == "length") & (length == 0) & room.is_not_null()
    answered = reason.is_in(["stop", "length"]) | reason.is_null()
    return (
        pl.when(finished & handed_off)
        .then(pl.lit("prefill"))
        .when(finished & answered)
        .then(pl.lit("decode"))
        .otherwise(pl.lit(ENGINE_HOP))
    )
