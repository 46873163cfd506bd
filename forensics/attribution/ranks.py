"""Which identities may be of one rank: a record that names a server alone may be of any of it."""

from __future__ import annotations

import polars as pl

from forensics.capacity import server_of


def beside(nodes: pl.Series) -> pl.DataFrame:
    """Return ``node`` and ``rank``: each identity with all that may be the same rank, itself too.

    Args:
        nodes: identities as the logs name them, in any number.
    """
    known = nodes.drop_nulls().unique().sort()
    servers = pl.Series("server", [server_of(node) for node in known], dtype=pl.String)
    frame = pl.DataFrame({"node": known, "server": servers})
    itself = frame.select("node", rank="node")
    ranks = frame.filter(pl.col("node") != pl.col("server"))
    both = ranks.join(frame.select(alone="node"), left_on="server", right_on="alone")
    up = both.select("node", rank="server")
    return pl.concat([itself, up, up.select(node="rank", rank="node")])


def alike(one: str, other: str) -> bool:
    """Say whether two identities may be of one rank."""
    return one in (other, server_of(other)) or server_of(one) == other


def unranked(nodes: pl.Series) -> list[str]:
    """Return servers that are named without a rank where ranks of them are named as well."""
    pairs = beside(nodes).filter(pl.col("rank") != pl.col("node"))
    return [node for node in pairs["node"].unique().sort() if server_of(node) == node]


def with_server(rows: pl.DataFrame, node: str) -> pl.DataFrame:
    """Return rows with the ``server`` of their identity, and whether it stands ``alone``.

    Alone is a server of which ranks are named as well: its rank is not known.
    """
    known = rows[node].drop_nulls().unique().sort()
    servers = pl.DataFrame(
        {node: known, "server": [server_of(name) for name in known]},
        schema={node: pl.String, "server": pl.String},
    ).with_columns(alone=pl.col(node).is_in(unranked(known)))
    return rows.join(servers, on=node, how="left", maintain_order="left").with_columns(
        pl.col("alone").fill_null(value=False)
    )
