"""The side of engine records that do not say it: by id, by what they pair with, by the node."""

from __future__ import annotations

import polars as pl

from forensics.columns import ensure
from forensics.schema import ENGINE_HOP

_OTHER = {"prefill": "decode", "decode": "prefill"}


def settle(frame: pl.DataFrame, roles: pl.DataFrame) -> pl.DataFrame:
    """Set ``hop`` where it is still ``engine`` and one reading is possible.

    Args:
        frame: records with ``hop``, ``request_id`` and ``transfer_id``.
        roles: capacity epochs, for ``node`` and ``role``.
    """
    if not (frame["hop"] == ENGINE_HOP).any():
        return frame
    frame = ensure(frame, ["prefill_node", "decode_node", "source_node"])
    unknown = pl.col("hop") == ENGINE_HOP
    known = frame.filter(pl.col("hop").is_in(list(_OTHER)))
    by_id = _single_hop(known, ["source_node", "request_id"]).rename({"side": "side_by_id"})
    by_pair = _single_hop(known, ["transfer_id"]).select(
        "transfer_id", side_by_pair=pl.col("side").replace_strict(_OTHER, default=None)
    )
    frame = (
        frame.join(by_id, on=["source_node", "request_id"], how="left")
        .join(by_pair, on="transfer_id", how="left")
        .join(_by_node(roles), on="source_node", how="left")
    )
    side = pl.coalesce("side_by_id", "side_by_pair", "side_by_node", pl.lit(ENGINE_HOP))
    settled = frame.with_columns(hop=pl.when(unknown).then(side).otherwise("hop"), _told=unknown)
    return _without_the_other_side(settled).drop(
        "_told", "side_by_id", "side_by_pair", "side_by_node"
    )


_NODES = {"prefill": "prefill_node", "decode": "decode_node"}
_COUNTS = {
    "prefill": ("prefill_prompt_tokens",),
    "decode": ("decode_prompt_tokens", "completion_tokens"),
}


def _without_the_other_side(frame: pl.DataFrame) -> pl.DataFrame:
    """Leave a record that named its engine and counts on both sides those of its own.

    Where the side is still unknown the engine may be either, but a count is of neither.
    """
    told, hop = pl.col("_told"), pl.col("hop")
    changed = [
        pl.when(~told | (hop != _OTHER[side])).then(name).alias(name)
        for side, name in _NODES.items()
    ]
    changed += [
        pl.when(~told | (hop == side)).then(name).alias(name)
        for side, names in _COUNTS.items()
        for name in names
        if name in frame.columns
    ]
    return frame.with_columns(changed)


def _single_hop(known: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    return (
        known.drop_nulls(keys)
        .group_by(keys)
        .agg(pl.col("hop").unique().alias("sides"))
        .filter(pl.col("sides").list.len() == 1)
        .with_columns(side=pl.col("sides").list.first())
        .drop("sides")
    )


def _by_node(roles: pl.DataFrame) -> pl.DataFrame:
    """Servers whose epochs name one role alone."""
    return (
        roles.filter(pl.col("role").is_in(list(_OTHER)))
        .select(pl.col("node").str.replace(r"/[^/]*$", "").alias("source_node"), "role")
        .group_by("source_node")
        .agg(pl.col("role").unique())
        .filter(pl.col("role").list.len() == 1)
        .select("source_node", pl.col("role").list.first().alias("side_by_node"))
    )
