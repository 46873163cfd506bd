"""What is told of a server holds for all its ranks, those with records of their own too.

A rank that somebody once asked by itself was started anew with its server all the same. Where
both are told at about the same moment, what names the rank is the surer. A record of a server
that shows no start unsays nothing that was told of the rank: either limit may have been in force.
"""

from __future__ import annotations

import polars as pl

from forensics import carried
from forensics.boots import BEGINNING
from forensics.inputlimit import derived

SAME_MOMENT = 2_000_000
"""Microseconds: lines of a start are a second coarse, and a record of it may be as well."""


def told(records: pl.DataFrame, boots: pl.DataFrame) -> pl.DataFrame:
    """Return what logs tell of each node, and of a rank with rows what they tell of its server.

    Args:
        records: rows that were logged as capacity records; what they leave out is completed.
        boots: rows that were read off logs; both have :data:`forensics.boots.EPOCH_DTYPES`.
    """
    rows = pl.concat([carried.completed(records, boots), boots])
    copies = _on_ranks(rows)
    if copies.is_empty():
        return rows
    # A record of a rank may leave out what is told of its server.
    rows = pl.concat([carried.completed(records, pl.concat([boots, copies])), boots])
    started = boots.filter(pl.col("effective_at") > BEGINNING).select("node", "effective_at")
    return pl.concat([rows, _beside(copies, rows, started)])


def _on_ranks(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of servers once for each of their ranks that has rows of its own."""
    ranks = rows.select(rank="node").unique()
    ranks = ranks.with_columns(node=pl.col("rank").str.extract(r"^(.*)/[^/]*$")).drop_nulls()
    copies = ranks.join(rows, on="node").with_columns(node="rank", inferred=pl.lit(value=True))
    return copies.select(rows.columns)


def _beside(copies: pl.DataFrame, rows: pl.DataFrame, started: pl.DataFrame) -> pl.DataFrame:
    """Return the copies at whose moment the rank itself is told nothing, with what it was told."""
    limit = pl.coalesce("input_limit_tokens", derived("pool_tokens"))
    own = rows.select("node", at="effective_at", own=limit).sort("at")
    near = _joined(copies.sort("effective_at"), own.select("node", near="at"), "near", "nearest")
    apart = ((pl.col("near") - pl.col("effective_at")).abs() > SAME_MOMENT).fill_null(value=True)
    found = _joined(near.filter(apart), own.drop_nulls(), "at", "backward")
    begun = started.with_columns(begun=pl.lit(value=True)).unique()
    servers = pl.col("node").str.replace(r"/[^/]*$", "")
    found = found.with_columns(server=servers).join(
        begun, left_on=["server", "effective_at"], right_on=["node", "effective_at"], how="left"
    )
    either = pl.when(pl.col("begun").is_null() & (limit != pl.col("own"))).then("own")
    return found.with_columns(
        stray_least=pl.min_horizontal("stray_least", either),
        stray_most=pl.max_horizontal("stray_most", either),
    ).select(copies.columns)


def _joined(rows: pl.DataFrame, own: pl.DataFrame, at: str, which: str) -> pl.DataFrame:
    return rows.join_asof(
        own,
        left_on="effective_at",
        right_on=at,
        by="node",
        strategy=which,  # type: ignore[arg-type]
        check_sortedness=False,
        coalesce=False,
    )
