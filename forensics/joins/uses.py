"""Uses of one room under one id: who calls an engine directly may send both again."""

from __future__ import annotations

import polars as pl

_APART = 2_000_000
"""How long after the end of one use the next begins at least, microseconds: clocks are not exact
and old ones have whole seconds."""
_USE = ["handoff", "request_id"]
_SEPARATOR = "\x1e"


def of_each_use(rows: pl.DataFrame) -> pl.DataFrame:
    """Give decode's records of each use an id of its own.

    A request that decode took on after it had ended one of that room and id is another one.

    Args:
        rows: records with ``observation``, ``handoff``, ``hop``, ``request_id``, ``received_at``,
            ``finished_at`` and ``late``: its time is no arrival.
    """
    decode = rows.filter((pl.col("hop") == "decode") & (pl.col("request_id") != ""))
    decode = decode.filter(decode.select(pl.struct(_USE).is_duplicated()).to_series())
    begun = pl.when(~pl.col("late")).then("received_at")
    decode = decode.select("observation", *_USE, "finished_at", "received_at", begun=begun)
    after = pl.col("begun") >= pl.col("finished_at").cum_max().shift(1) + _APART
    decode = decode.sort(*_USE, "received_at", "finished_at", "observation", nulls_last=False)
    cut = after.over(_USE).fill_null(value=False)
    decode = decode.with_columns(use=cut.cast(pl.Int64).cum_sum().over(_USE))
    again = decode.filter(pl.col("use") > 0)
    if not again.height:
        return rows
    uses = again.select("observation", "use")
    own = pl.concat_str("request_id", pl.col("use").cast(pl.String), separator=_SEPARATOR)
    rows = rows.join(uses, on="observation", how="left", maintain_order="left").rechunk()
    return rows.with_columns(request_id=pl.coalesce(own, "request_id")).drop("use")
