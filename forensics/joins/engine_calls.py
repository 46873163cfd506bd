"""Calls under one request id that only engines logged, told apart by what one engine wrote.

An engine writes one record of a form for each call. A second one of the same node and
form, of another size or later than ranks differ, is therefore another call.
"""

from __future__ import annotations

import polars as pl

from forensics.columns import ensure
from forensics.joins.gaps import CLIENT, NEAR_GAP

_SIDES = ("prefill", "decode")
_FILLED = ("cached_tokens", "completion_tokens", "finish_reason", "prefill_ms", "reserved_at")
"""What is filled tells the forms apart in which one engine logs one call."""
_WRITER = ["handoff", "hop", "source_node", "form"]


def engine_calls(alone: pl.DataFrame) -> pl.DataFrame:
    """Return the records of one side of each use that saw several calls, numbered.

    Uses that a client-facing hop logged are left out: its records tell their calls.
    """
    client = alone.filter(pl.col("hop").is_null() | pl.col("hop").is_in(CLIENT))
    rows = _records(alone).join(client.select("handoff").unique(), on="handoff", how="anti")
    rows = rows.filter(pl.struct(_WRITER).is_duplicated())
    rows = rows.sort(*_WRITER, "at", "size", "observation")
    rows = rows.with_columns(call=_another_call().cast(pl.Int64).cum_sum().over(_WRITER))
    rows = rows.with_columns(last=pl.col("call").max().over(_WRITER))
    rows = rows.with_columns(most=pl.col("last").max().over("handoff"))
    rows = rows.filter((pl.col("last") > 0) & (pl.col("last") == pl.col("most")))
    rows = rows.filter(pl.col("hop") == pl.col("hop").min().over("handoff"))
    rows = rows.filter(pl.col("source_node") == pl.col("source_node").min().over("handoff"))
    return rows.select("observation", "handoff", "size", "at", "call")


def _another_call() -> pl.Expr:
    later = pl.col("at") - pl.col("at").shift(1).over(_WRITER) > NEAR_GAP
    size = pl.col("size") != pl.col("size").shift(1).over(_WRITER)
    return (later | size).fill_null(value=False)


def _records(alone: pl.DataFrame) -> pl.DataFrame:
    """Engine records of calls that were worked on, with the form they are in."""
    sizes = ("prefill_prompt_tokens", "decode_prompt_tokens")
    known = ensure(alone, [*_FILLED, *sizes, "source_node", "timed_late"])
    form = pl.concat_str(
        *(pl.col(name).is_null().cast(pl.String) for name in _FILLED),
        pl.col("timed_late").fill_null(value=False).cast(pl.String),
    )
    answered = (pl.col("completion_tokens") > 0).fill_null(value=False)
    rows = known.filter(pl.col("hop").is_in(_SIDES) & ((pl.col("hop") == "prefill") | answered))
    return rows.select(
        "observation",
        "handoff",
        "hop",
        pl.col("source_node").fill_null(""),
        form=form,
        size=pl.when(pl.col("hop") == "prefill").then(sizes[0]).otherwise(sizes[1]),
        at="received_at",
    ).drop_nulls(["size", "at"])
