"""Requests that other hops prove, by the hour and, where that is told, the node that lost them."""

from __future__ import annotations

import math

import polars as pl

from forensics.coverage.hours import AT

PROVED = "proved_elsewhere"
_RARE = -math.log(0.01)
"""A node that chance alone would leave so far below its share once in a hundred hours lost some."""


def with_proved(hours: pl.DataFrame, lacking: pl.DataFrame) -> pl.DataFrame:
    """Return the hours with :data:`PROVED`, and rows without a node for what no node is told of.

    Args:
        hours: of :class:`forensics.coverage.Coverage`.
        lacking: of :class:`forensics.coverage.holes.Holes`.
    """
    lost = lacking.group_by(AT).agg(pl.len().cast(pl.Int64).alias(PROVED))
    rows = hours.join(lost, on=AT, how="full", coalesce=True, nulls_equal=True)
    counts = [name for name, dtype in rows.schema.items() if dtype.is_integer() and name != "hour"]
    return rows.with_columns(
        pl.col(counts).fill_null(0), pl.col("gap", "unlogged", "thin").fill_null(value=False)
    ).sort(AT, nulls_last=False)


def partly(rows: pl.DataFrame) -> pl.Series:
    """Say which rows of :func:`with_proved` lost records in part: by their node, or by its share.

    A lost record names no node unless another hop's does. Where the hop has several, a node with
    far fewer records than its share of all that the hop should hold is where they were lost.
    """
    nodeless = pl.col("node").is_null() & (pl.col("hop") != "gateway")
    every = ("hop", "hour")
    told = rows.select(
        *("hop", "node", "records", PROVED),
        nodeless=nodeless,
        lost=pl.col(PROVED).filter(nodeless).sum().over(every),
        held=pl.col("records").sum().over(every),
    )
    whole = told.filter(~pl.col("nodeless"), pl.col(PROVED) == 0, pl.col("lost") == 0)
    share = pl.col("records").sum() / pl.col("held").sum()
    shares = whole.group_by("hop", "node").agg(share=share)
    told = told.join(
        shares, on=["hop", "node"], how="left", nulls_equal=True, maintain_order="left"
    )
    due, few = (pl.col("held") + pl.col("lost")) * pl.col("share"), pl.col("records")
    log = pl.when(few > 0).then(few * (few / due).log()).otherwise(0.0)
    short = ~pl.col("nodeless") & (pl.col("lost") > 0) & (few < due) & (due - few + log >= _RARE)
    found = short.fill_null(value=False) | (pl.col(PROVED) > 0)
    return told.select(found.alias("partly")).to_series()
