"""What a client record that was joined by inference may say of the request it joined."""

from __future__ import annotations

import polars as pl

from forensics import schema

_IDENTITY = ("request_id", "tenant_id")
_ANSWER = ("http_status", "stream_error", "finish_reason", "completion_tokens", "finished_at")


def claims(joined: pl.DataFrame) -> pl.DataFrame:
    """Leave of each inferred record what may reach the row: tenant, an answer borne out.

    Its id names the row only where decode's record does not. Its time, model, size and
    refusal decide nothing, nor does an answer that the engine's own records do not show.
    """
    if not joined["attached"].any():
        return joined
    dropped = [
        column.name
        for column in (*schema.REQUEST_COLUMNS, *schema.ENGINE_COLUMNS)
        if column.name in joined.columns and column.name not in (*_IDENTITY, *_ANSWER)
    ]
    own = joined.filter("attached").drop(dropped)
    decode = (pl.col("hop") == "decode") & pl.col("request_id").is_not_null()
    named = joined.filter(decode)["handoff"]
    own = own.with_columns(
        pl.when(~pl.col("handoff").is_in(named.unique().implode())).then("request_id"),
        *(pl.when("agreed").then(name).alias(name) for name in _ANSWER if name in own.columns),
    )
    return pl.concat([joined.filter(~pl.col("attached")), own], how="diagonal_relaxed").rechunk()


def tenant_inferred(rows: pl.DataFrame, joined: pl.DataFrame) -> pl.DataFrame:
    """Add ``tenant_inferred`` to requests: no record that an identifier joined names the tenant."""
    if not joined["attached"].any():
        return rows.with_columns(tenant_inferred=pl.lit(value=False))
    named = joined.filter(pl.col("tenant_id").is_not_null())
    by_inference = named.filter("attached")["handoff"].unique()
    by_record = named.filter(~pl.col("attached"))["handoff"].unique()
    handoff = pl.col("handoff")
    return rows.with_columns(
        tenant_inferred=handoff.is_in(by_inference.implode()) & ~handoff.is_in(by_record.implode())
    )
