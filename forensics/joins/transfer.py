"""Records that name their hand-off: what both sides share joins first."""

from __future__ import annotations

import polars as pl

from forensics.joins.gaps import FAR_GAP, SESSION_GAP


def by_transfer(direct: pl.DataFrame) -> pl.DataFrame:
    """Key by transfer id, and say in ``far`` where the clocks of a key are hours apart.

    A pause of more than an hour starts another hand-off, if a side has records on both ends
    of it. Where each side has the id once, its clocks may be in other zones: it stays one
    hand-off, joined by inference.
    """
    at = pl.col("received_at")
    spread = direct.group_by("transfer_id").agg((at.max() - at.min()).alias("spread"))
    wide = spread.filter(pl.col("spread") > SESSION_GAP)
    if not wide.height:
        key = pl.format("t:{}:0", "transfer_id")
        return direct.with_columns(handoff=key, far=pl.lit(value=False))
    wide = wide.select("transfer_id")
    uses = direct.select("observation", "transfer_id", "received_at", "hop")
    uses = uses.join(wide, on="transfer_id", how="semi").join(_far(uses, wide), on="transfer_id")
    uses = uses.sort("transfer_id", "received_at", nulls_last=False)
    pause = at - at.shift(1).over("transfer_id")
    cut = ((pause > SESSION_GAP) & ~pl.col("far")).fill_null(value=False)
    session = cut.cast(pl.Int64).cum_sum().over("transfer_id")
    sessions = uses.select("observation", "far", session=session)
    direct = direct.join(sessions, on="observation", how="left", maintain_order="left")
    key = pl.format("t:{}:{}", "transfer_id", pl.col("session").fill_null(0))
    far = pl.col("far").fill_null(value=False)
    return direct.with_columns(handoff=key, far=far).drop("session")


def _far(uses: pl.DataFrame, wide: pl.DataFrame) -> pl.DataFrame:
    """Say of wide ids whether each side has them once: the sides' clocks differ, not the uses."""
    at = pl.col("received_at")
    sides = (
        uses.join(wide, on="transfer_id", how="semi")
        .group_by("transfer_id", "hop")
        .agg(at.min().alias("first"), at.max().alias("last"))
    )
    once = (pl.col("last") - pl.col("first") <= SESSION_GAP).fill_null(value=True).all()
    near = pl.col("last").max() - pl.col("first").min() <= FAR_GAP
    known = pl.col("hop").is_in(["prefill", "decode"]).all()
    return sides.group_by("transfer_id").agg(
        far=once & near.fill_null(value=False) & known & (pl.len() == 2)
    )
