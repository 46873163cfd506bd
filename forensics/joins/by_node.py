"""Hand-offs that two prefill nodes logged under one transfer id: a client can repeat a room.

One request is prefilled on one node. Of those that counted no more than decode did the nearest in
time is decode's; every other node's records are a request of their own. Where several are near
nothing tells which it is: decode's is then the one that clears least, by inference.
"""

from __future__ import annotations

import polars as pl

from forensics.columns import ensure
from forensics.joins.gaps import INFERRED_GAP, UNPAIRED_GAP
from forensics.schema import TIMED_LATE

_SERVER = pl.col("prefill_node").str.replace(r"/[^/]*$", "")
_AT, _SIZE = pl.col("at"), pl.col("size")
_SENT = ("transferred_pages", "transferred_tokens", "transfer_mb")
_ORDER = ("unfit", "distant", "whole", "size", *_SENT, "away", "server")
"""By what a node comes first: it can be decode's, is near, and clears least; then by time."""


def by_node(direct: pl.DataFrame) -> pl.DataFrame:
    """Part the prefill nodes under each ``handoff``.

    Args:
        direct: with ``handoff``, ``inferred``, and ``anchored``: the hand-off is one of several
            under its key already.
    """
    if "prefill_node" not in direct.columns:
        return direct
    nodes = _nodes(direct)
    if not nodes.height:
        return direct
    nodes = nodes.join(_decode(direct, nodes), on="handoff", how="left")
    nodes = _told(nodes).sort("handoff", *_ORDER, nulls_last=True)
    first = nodes.group_by("handoff", maintain_order=True).agg(
        pl.col("server").first().alias("own"),
        guessed=(~pl.col("unfit") & ~pl.col("distant")).sum() > 1,
    )
    return _parted(direct, first)


def _nodes(direct: pl.DataFrame) -> pl.DataFrame:
    """Return each prefill server under a key that several of them used, not only logged."""
    prefill = direct.filter((pl.col("hop") == "prefill") & pl.col("prefill_node").is_not_null())
    prefill = prefill.filter(prefill["handoff"].is_duplicated())
    rows = ensure(prefill, ["prefill_prompt_tokens", "rejected", *_SENT]).select(
        "handoff",
        "request_id",
        "rejected",
        *_SENT,
        server=_SERVER,
        size="prefill_prompt_tokens",
        at=pl.when(pl.col("prefill_prompt_tokens").is_not_null()).then("received_at"),
    )
    several = pl.col("server").n_unique().over("handoff") > 1
    rows = rows.filter(several)
    if not rows.height:
        return rows
    whole = rows.group_by("handoff").agg(ids=pl.col("request_id").drop_nulls().n_unique())
    nodes = rows.group_by("handoff", "server").agg(
        _SIZE.min(),
        _AT.min(),
        *(pl.col(name).min() for name in _SENT),
        accepted=~pl.col("rejected").fill_null(value=False).any(),
        own=pl.col("request_id").drop_nulls().n_unique(),
    )
    return nodes.join(whole, on="handoff").filter(_used()).drop("ids", "own")


def _used() -> pl.Expr:
    """Say of which keys the nodes are several, and not the names of two logs of one.

    Two engines give one room other ids, count another prompt, or use it minutes apart.
    """
    ids = (pl.col("own") > 0).all() & (pl.col("own").sum() == pl.col("ids").max())
    sizes = _SIZE.max() > _SIZE.min()
    times = _AT.max() - _AT.min() > INFERRED_GAP
    return pl.any_horizontal(
        said.over("handoff").fill_null(value=False) for said in (ids, sizes, times)
    )


def _decode(direct: pl.DataFrame, nodes: pl.DataFrame) -> pl.DataFrame:
    """Return when decode took each hand-off, what it counted, and the prefill it names."""
    rows = ensure(direct, ["decode_prompt_tokens", TIMED_LATE]).filter(pl.col("hop") == "decode")
    rows = rows.join(nodes.select("handoff").unique(), on="handoff", how="semi")
    return rows.group_by("handoff").agg(
        pl.col("received_at").min().alias("taken"),
        pl.col(TIMED_LATE).fill_null(value=False).any().alias("late"),
        pl.col("decode_prompt_tokens").max().alias("counted"),
        _SERVER.drop_nulls().unique().sort().alias("named"),
    )


def _told(nodes: pl.DataFrame) -> pl.DataFrame:
    """Add which nodes cannot be decode's, how far away the others are, and what they show.

    A time of decode's that is of the end is as near to all that came before it.
    """
    named = pl.col("named").list.contains(pl.col("server")).fill_null(value=False)
    other = (pl.col("named").list.len() > 0).fill_null(value=False) & ~named
    more = (pl.col("counted") < _SIZE).fill_null(value=False)
    away = (_AT - pl.col("taken")).abs()
    near = (away <= UNPAIRED_GAP) | (pl.col("late") & (pl.col("taken") > _AT))
    distant = ~near & pl.col("taken").is_not_null()
    less = (pl.col("counted") > _SIZE) | ~pl.col("accepted")
    return nodes.with_columns(
        unfit=other | more,
        # Of nodes that no decode record speaks of, the earliest keeps the key.
        away=pl.when(pl.col("taken").is_null()).then(_AT).otherwise(away),
        distant=distant.fill_null(value=False),
        whole=pl.col("taken").is_not_null() & ~less.fill_null(value=False),
    )


def _parted(direct: pl.DataFrame, first: pl.DataFrame) -> pl.DataFrame:
    """Give every other prefill node a key of its own."""
    rows = direct.join(first, on="handoff", how="left", maintain_order="left").rechunk()
    apart = (pl.col("hop") == "prefill") & (pl.col("own") != _SERVER)
    apart = apart.fill_null(value=False)
    key = pl.concat_str("handoff", _SERVER, separator=":n:")
    before = pl.col("inferred") & (pl.col("own").is_null() | pl.col("anchored"))
    guessed = pl.col("guessed").fill_null(value=False)
    return rows.with_columns(
        handoff=pl.when(apart).then(key).otherwise("handoff"),
        inferred=~apart & (before | guessed),
    ).drop("own", "guessed")
