"""Records that name their hand-off: what both sides share joins first."""

from __future__ import annotations

import polars as pl

from forensics.joins.gaps import SESSION_GAP


def by_transfer(direct: pl.DataFrame) -> pl.DataFrame:
    """Key by transfer id; a pause of more than an hour starts another hand-off."""
    at = pl.col("received_at")
    spread = direct.group_by("transfer_id").agg((at.max() - at.min()).alias("spread"))
    wide = spread.filter(pl.col("spread") > SESSION_GAP).select("transfer_id")
    if not wide.height:
        return direct.with_columns(handoff=pl.format("t:{}:0", "transfer_id"))
    uses = direct.select("observation", "transfer_id", "received_at")
    uses = uses.join(wide, on="transfer_id", how="semi").sort(
        "transfer_id", "received_at", nulls_last=False
    )
    cut = (at - at.shift(1).over("transfer_id") > SESSION_GAP).fill_null(value=False)
    session = cut.cast(pl.Int64).cum_sum().over("transfer_id")
    sessions = uses.select("observation", session=session)
    direct = direct.join(sessions, on="observation", how="left", maintain_order="left")
    key = pl.format("t:{}:{}", "transfer_id", pl.col("session").fill_null(0))
    return direct.with_columns(handoff=key).drop("session")
