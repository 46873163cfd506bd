"""Callers' spans without a request's id, beside the record of a gateway that has one.

Such a span is named by its trace, which no other hop knows, so that one request would count
twice. It joins the only client record of its own prompt and answer length and moment, and of
its tenant as far as both say; where several are alike it stays a request of its own. By
this inference the request gets a tenant and nothing else that decides.
"""

from __future__ import annotations

import polars as pl

from forensics.columns import ensure
from forensics.joins.gaps import CLIENT, UNPAIRED_GAP

_SPAN_DIGITS = 16
_LENGTHS = ("prompt_tokens", "completion_tokens")
_KEY = ["handoff", "at", "tenant", *_LENGTHS]


def with_callers(joined: pl.DataFrame) -> pl.DataFrame:
    """Return the observations with ``spoken`` and ``caller``.

    ``spoken`` says which are of a caller and joined another client's record, ``caller`` which
    have no id but their trace, so that this one is no sign of a hand-off.

    Args:
        joined: observations with a numbered ``handoff`` and ``hop``.
    """
    nobody = [pl.lit(value=False).alias(name) for name in ("spoken", "caller")]
    if not named_by_trace(joined):
        return joined.with_columns(nobody)
    joined = joined.with_columns(_spoken=_named_by_trace())
    moves = _moves(joined)
    joined = joined.join(moves, on="handoff", how="left", maintain_order="left")
    moved = pl.col("to").is_not_null()
    return joined.with_columns(
        handoff=pl.coalesce("to", "handoff"),
        request_id=pl.when(~moved).then("request_id"),
        spoken=moved,
        caller="_spoken",
    ).drop("to", "_spoken")


def named_by_trace(joined: pl.DataFrame) -> bool:
    """Say whether any record is of a caller without an id."""
    some = (pl.col("hop") == "gateway") & pl.col("transfer_id").is_not_null()
    if not joined.select(some.any()).item():
        return False
    return bool(joined.select(_named_by_trace().any()).item())


def _named_by_trace() -> pl.Expr:
    """Say which records have no other id than their span's."""
    length = pl.col("transfer_id").str.len_bytes() + 1 + _SPAN_DIGITS
    own = pl.col("request_id").str.starts_with(pl.col("transfer_id") + pl.lit("-"))
    caller = (pl.col("hop") == "gateway") & own
    return (caller & (pl.col("request_id").str.len_bytes() == length)).fill_null(value=False)


def _moves(joined: pl.DataFrame) -> pl.DataFrame:
    """Return each caller's ``handoff``, and that of the one record that it can be of."""
    rows = ensure(joined.filter(pl.col("hop").is_in(CLIENT)), _LENGTHS)
    rows = rows.drop_nulls([*_LENGTHS, "received_at"])
    seen = rows.group_by("handoff", *_LENGTHS).agg(
        pl.col("received_at").min().alias("at"),
        pl.col("tenant_id").min().alias("tenant"),
    )
    # A hand-off that any other record is of is none that only a caller knows.
    alone = joined.group_by("handoff").agg(pl.col("_spoken").all()).filter("_spoken")
    callers = seen.join(alone.select("handoff"), on="handoff", how="semi")
    others = seen.join(alone.select("handoff"), on="handoff", how="anti")
    pairs = callers.select(_KEY).join(others.select(_KEY), on=list(_LENGTHS), suffix="_other")
    near = (pl.col("at") - pl.col("at_other")).abs() <= UNPAIRED_GAP
    one = pl.col("tenant").eq(pl.col("tenant_other")).fill_null(value=True)
    pairs = pairs.filter(near & one)
    only = pl.col("handoff").is_unique() & pl.col("handoff_other").is_unique()
    return pairs.filter(only).select("handoff", to="handoff_other")
