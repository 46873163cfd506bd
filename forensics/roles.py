"""Which side a server is on: the role of the boot in which a record was written.

A role that a start, a snapshot or a statement of the engine names goes before any other
sign. It says nothing of a log that two servers write to: there a hand-off has both its
sides under one name.
"""

from __future__ import annotations

import polars as pl

SIDE_OF = {"prefill": "prefill", "decode": "decode", "unified": "decode"}
"""The side whose counts and answers an engine of each role gives."""
NAMED_PREFILL = r"(?i)(?:^|[^a-z])(?:prefill|ctx|context)(?:[^a-z]|$)"
"""How operators name what does the prefill, where no log says on which side a server is."""
_SHARE = 0.5
"""So much of what decode answered is prefill's as well, in a log of both."""


def roles_at(rows: pl.DataFrame, roles: pl.DataFrame) -> pl.Series:
    """Return the role of each record's server in the boot of its time; null where not known.

    Args:
        rows: records with ``source_node`` and ``received_at``.
        roles: capacity epochs, for ``node``, ``role`` and ``effective_at``.
    """
    known = roles.filter(pl.col("role").is_not_null()).select(
        pl.col("node").str.replace(r"/[^/]*$", "").alias("source_node"), "role", "effective_at"
    )
    several = pl.col("role").n_unique().over("source_node") > 1
    alone = known.filter(~several).select("source_node", "role").unique()
    single = dict(alone.iter_rows())
    found = rows.select(
        pl.col("source_node").replace_strict(
            list(single) or [""],
            list(single.values()) or [None],
            default=None,
            return_dtype=pl.String,
        )
    ).to_series()
    changing = known.filter(several)
    return _in_boot(rows, changing, found) if changing.height else found


def _in_boot(rows: pl.DataFrame, changing: pl.DataFrame, found: pl.Series) -> pl.Series:
    """Fill in the servers whose boots differ in their role, at the time of each record."""
    at = changing.unique(["source_node", "effective_at", "role"])
    once = ~pl.struct("source_node", "effective_at").is_duplicated()
    at = at.with_columns(role=pl.when(once).then("role")).unique(["source_node", "effective_at"])
    left = rows.select("source_node", "received_at").with_row_index("_row")
    left = left.join(at.select("source_node").unique(), on="source_node", how="semi")
    told = (
        left.drop_nulls("received_at")
        .sort("received_at")
        .join_asof(
            at.sort("effective_at"),
            left_on="received_at",
            right_on="effective_at",
            by="source_node",
            strategy="backward",
            check_sortedness=False,
        )
    )
    return found.scatter(told["_row"], told["role"])


def of_both_sides(rows: pl.DataFrame) -> pl.Series:
    """Return the servers under whose name both sides of hand-offs stand.

    Args:
        rows: records with ``source_node``, ``transfer_id`` and ``side``, null where not told.
    """
    sides = (
        rows.drop_nulls(["source_node", "transfer_id", "side"])
        .group_by("source_node", "transfer_id")
        .agg(both=pl.col("side").n_unique() > 1, answered=(pl.col("side") == "decode").any())
    )
    shares = sides.filter("answered").group_by("source_node").agg(pl.col("both").mean())
    return shares.filter(pl.col("both") >= _SHARE)["source_node"]
