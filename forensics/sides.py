"""The side of engine records that do not say it: by the node's role, the id, the pair, the shape.

An answer stands on the side whose shape it has (its node and count are there alone); what
may be of either side stands on both. The role of the boot goes before the shape.
"""

from __future__ import annotations

import polars as pl

from forensics.columns import ensure
from forensics.roles import NAMED_PREFILL, SIDE_OF, of_both_sides, roles_at
from forensics.schema import ENGINE_HOP, REFUSAL_LIMIT

_OTHER = {"prefill": "decode", "decode": "prefill"}
_NODE = {"prefill": "prefill_node", "decode": "decode_node"}
_COUNT = {"prefill": "prefill_prompt_tokens", "decode": "decode_prompt_tokens"}
_COMPUTED = ("cached_tokens", "prefill_ms")
_END = ("http_status", "finish_reason", "finished_at")


def settle(frame: pl.DataFrame, roles: pl.DataFrame) -> pl.DataFrame:
    """Set ``hop`` where it is still ``engine`` and one reading is possible.

    Args:
        frame: records with ``hop``, ``request_id``, ``transfer_id`` and ``received_at``.
        roles: capacity epochs, for ``node``, ``role`` and ``effective_at``.
    """
    if not (frame["hop"] == ENGINE_HOP).any():
        return frame
    frame = ensure(frame, [*_NODE.values(), *_COUNT.values(), "source_node", "rejected"])
    untold = pl.col("hop") == ENGINE_HOP
    frame = frame.with_columns(
        _untold=untold.fill_null(value=False),
        _shape=pl.when(untold).then(_shape()),
        _role=roles_at(frame, roles),
    )
    frame = _without_role(frame)
    shaped = pl.when(pl.col("_shape").is_not_null()).then(pl.coalesce(_BY_ROLE, "_shape"))
    frame = frame.with_columns(hop=pl.when("_untold").then(shaped).otherwise("hop"))
    return _on_one_side(_told(frame)).drop("_untold", "_shape", "_role")


def _shape() -> pl.Expr:
    """The side on which alone a record stands."""
    prefill, decode = (pl.col(name).is_not_null() for name in ("prefill_node", "decode_node"))
    return (
        pl.when(prefill & ~decode)
        .then(pl.lit("prefill"))
        .when(decode & ~prefill)
        .then(pl.lit("decode"))
    )


_BY_ROLE = pl.col("_role").replace_strict(SIDE_OF, default=None)


def _without_role(frame: pl.DataFrame) -> pl.DataFrame:
    """Forget the role of servers whose own records contradict it.

    A line that states its side does so, and a log that holds both sides of its hand-offs.
    """
    stated = pl.when(pl.col("hop").is_in(list(_OTHER))).then("hop")
    against = frame.select(
        "source_node",
        stated=(stated != _BY_ROLE).fill_null(value=False),
        shape=(pl.col("_shape") != _BY_ROLE).fill_null(value=False),
    )
    doubtful = against.filter("stated")["source_node"].unique()
    if against["shape"].any():
        among = frame.join(against.filter("shape").select("source_node").unique(), on="source_node")
        sides = among.select("source_node", "transfer_id", side=pl.coalesce(stated, "_shape"))
        doubtful = pl.concat([doubtful, of_both_sides(sides)])
    if not len(doubtful):
        return frame
    here = pl.col("source_node").is_in(doubtful.implode()).fill_null(value=False)
    return frame.with_columns(_role=pl.when(~here).then("_role"))


def _told(frame: pl.DataFrame) -> pl.DataFrame:
    """Tell what may be of either side: by its node, by its id, by its pair."""
    unknown = pl.col("_untold") & pl.col("hop").is_null()
    by_role = pl.when(pl.col("_role").is_in(list(_OTHER))).then("_role")
    frame = frame.with_columns(hop=pl.when(unknown).then(by_role).otherwise("hop"))
    if not frame.select(unknown.any()).item():
        return frame
    known = frame.filter(pl.col("hop").is_in(list(_OTHER)))
    by_id = _single_hop(known, ["source_node", "request_id"]).rename({"side": "side_by_id"})
    by_pair = _single_hop(known, ["transfer_id"]).select(
        "transfer_id", side_by_pair=pl.col("side").replace_strict(_OTHER, default=None)
    )
    frame = frame.join(
        by_id, on=["source_node", "request_id"], how="left", maintain_order="left"
    ).join(by_pair, on="transfer_id", how="left", maintain_order="left")
    side = pl.coalesce("side_by_id", "side_by_pair", pl.lit(ENGINE_HOP))
    hop = pl.when(unknown).then(side).otherwise("hop")
    return frame.with_columns(hop=hop).drop("side_by_id", "side_by_pair")


def _on_one_side(frame: pl.DataFrame) -> pl.DataFrame:
    """Leave a record that was told its engine, counts and figures on its own side alone.

    Where the side is still unknown the engine may be either, but a count is of neither. How
    a request ended is not prefill's to say.
    """
    left, hop = ~pl.col("_untold"), pl.col("hop")
    changed: list[pl.Expr] = []
    for side, other in _OTHER.items():
        node, count = (
            pl.when(hop == side).then(pl.coalesce(names[side], names[other])).otherwise(unknown)
            for names, unknown in (
                (_NODE, pl.when(_may_be(side)).then(_NODE[side])),
                (_COUNT, pl.lit(None, dtype=pl.Int64)),
            )
        )
        changed += [
            pl.when(left).then(names[side]).otherwise(value).alias(names[side])
            for names, value in ((_NODE, node), (_COUNT, count))
        ]
    kept = dict.fromkeys(_COMPUTED, hop == "prefill") | dict.fromkeys(_END, hop != "prefill")
    kept |= {"completion_tokens": hop == "decode", REFUSAL_LIMIT: hop != "decode"}
    changed += [
        pl.when(left | here).then(name).alias(name)
        for name, here in kept.items()
        if name in frame.columns
    ]
    return frame.with_columns(changed)


def _may_be(side: str) -> pl.Expr:
    """Say which records of unknown side may stand on that one.

    Prefill is where prompts are refused: a refusal that named a decode engine would stand for
    a request that decode took on. An engine of which nothing tells that it does any prefill is
    not named as the one that did: it may be decode's, whose pool clears no prompt.
    """
    unknown = pl.col("hop") == ENGINE_HOP
    refused = pl.col("rejected").fill_null(value=False)
    if side == "decode":
        return unknown & ~refused
    named = pl.col("source_node").str.contains(NAMED_PREFILL).fill_null(value=False)
    return unknown & (refused | named | (pl.col("_role") == "unified").fill_null(value=False))


def _single_hop(known: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    return (
        known.drop_nulls(keys)
        .group_by(keys)
        .agg(pl.col("hop").unique().alias("sides"))
        .filter(pl.col("sides").list.len() == 1)
        .with_columns(side=pl.col("sides").list.first())
        .drop("sides")
    )
