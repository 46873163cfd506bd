"""Responses of which no log names the rank: they may have read on any, since its last start."""

from __future__ import annotations

import polars as pl

from forensics.boots import BEGINNING

START_OFF = 2_000_000
"""Microseconds: lines of a start are a second coarse, and times of requests may be as well."""


def starts(placed: pl.DataFrame) -> pl.DataFrame:
    """Return ``node`` and ``since``: each rank with its known starts, and from the beginning on.

    Args:
        placed: requests of known ranks; see :func:`forensics.attribution.coresidency.residence`.
    """
    known = placed.select("node", "since").unique()
    always = known.select("node", since=pl.lit(BEGINNING, dtype=pl.Int64))
    return pl.concat([known, always]).unique().sort("node", "since")


def on_every_rank(reads: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """Return reads, those of no known rank once for each rank, since its last start before them.

    Args:
        reads: affected responses with ``_row``, ``node``, ``since`` and ``first``.
        known: see :func:`starts`.
    """
    nowhere = pl.col("node").is_null()
    astray = reads.filter(nowhere).drop("node", "since").join(known, how="cross")
    before = pl.col("since") <= pl.max_horizontal(pl.col("first") - START_OFF, BEGINNING)
    last = astray.filter(before).sort("since").unique(["_row", "node"], keep="last")
    return pl.concat([reads.filter(~nowhere), last.select(reads.columns)])
