"""Where else a hand-off ran: every rank that any of its records names.

Tries under one id without a number of their own are one hand-off, and each may have run on a rank
of its own. Its row names one rank; whose pages the others held, the other ranks must know.
"""

from __future__ import annotations

from collections.abc import Collection

import polars as pl

from forensics.believed import JOINED
from forensics.boots import BEGINNING

SIDES = ("decode", "prefill")
_SERVER = r"/[^/]*$"


OTHERS: dict[str, pl.DataType] = {
    "handoff": pl.UInt32(),
    "side": pl.String(),
    "other": pl.String(),
    "believed": pl.Boolean(),
}
"""A rank that a record names beside that of its request, and whether a believed hop tells it."""


def others(requests: pl.DataFrame, observed: pl.DataFrame) -> pl.DataFrame:
    """Return :data:`OTHERS` of some requests.

    Args:
        requests: folded requests with ``handoff`` and the nodes.
        observed: their records with ``handoff`` and ``hop``.
    """
    found = [pl.DataFrame(schema=OTHERS)]
    for side in SIDES:
        node = f"{side}_node"
        if node in observed.columns and node in requests.columns:
            own = _others(requests.select("handoff", own=node), observed, node)
            found.append(own.with_columns(side=pl.lit(side)).select(*OTHERS))
    return pl.concat(found)


def attach(requests: pl.DataFrame, found: pl.DataFrame) -> pl.DataFrame:
    """Add ``decode_ranks`` and ``prefill_ranks``: all ranks, the row's own first, of several.

    A hop may call a rank by another name than the rank itself does. So a second name counts where
    the hop that is believed tells it as well, or where it stands for the rank of any hand-off.

    Args:
        requests: all folded requests with ``handoff`` and the nodes.
        found: of :func:`others`, of all of them.
    """
    for side in SIDES:
        node = f"{side}_node"
        others = found.filter(pl.col("side") == side)
        if others.height:
            here = pl.col("other").is_in(requests[node].drop_nulls().unique().implode())
            others = others.filter(here | pl.col("believed"))
        if others.height:
            every = others.group_by("handoff").agg(pl.col("other").unique().sort())
            requests = requests.join(every, on="handoff", how="left", maintain_order="left")
            ranks = pl.concat_list(node, "other").alias(f"{side}_ranks")
            requests = requests.with_columns(ranks).drop("other")
    return requests


def _others(rows: pl.DataFrame, observed: pl.DataFrame, node: str) -> pl.DataFrame:
    """Return ``handoff``, each ``other`` rank that its records name, and whether it is believed."""
    told = observed.select("handoff", hop=pl.col("hop").fill_null(JOINED), other=node)
    told = told.drop_nulls("other").join(rows.drop_nulls("own"), on="handoff")
    other, own = pl.col("other"), pl.col("own")
    server = other.str.replace(_SERVER, ""), own.str.replace(_SERVER, "")
    apart = told.filter((other != own) & (server[0] != own) & (server[1] != other))
    hops = told.filter(other == own).select("handoff", "hop").unique()
    hops = hops.with_columns(believed=pl.lit(value=True))
    apart = apart.join(hops, on=["handoff", "hop"], how="left")
    return apart.select("handoff", "other", pl.col("believed").fill_null(value=False)).unique()


def several(columns: Collection[str], side: str = "decode") -> pl.Expr:
    """Say which hand-offs ran on several ranks of one side."""
    name = f"{side}_ranks"
    return pl.col(name).is_not_null() if name in columns else pl.lit(value=False)


def on_each(requests: pl.DataFrame, side: str = "decode") -> pl.DataFrame:
    """Return requests with ``node`` and ``since``, those of several ranks once for each.

    Args:
        requests: with ``decode_since``, and ``decode_ranks_since`` beside several ranks, of
            :func:`forensics.attribution.starts.attach`. A start that is not known is
            :data:`forensics.boots.BEGINNING`.
        side: ``decode`` or ``prefill``.
    """
    names, own = requests.columns, f"{side}_since"
    since = pl.col(own) if own in names else pl.lit(None)
    since = since.cast(pl.Int64).fill_null(BEGINNING)
    ranks, begun = f"{side}_ranks", f"{side}_ranks_since"
    if ranks not in names:
        return requests.with_columns(node=f"{side}_node", since=since)
    more = several(names, side)
    one = requests.filter(~more).with_columns(node=f"{side}_node", since=since)
    again = requests.filter(more).with_columns(node=ranks, since=begun if begun in names else since)
    again = again.explode(["node", "since"] if begun in names else "node")
    return pl.concat([one, again.with_columns(pl.col("since").fill_null(BEGINNING))])
