"""Hours in which a node logged far fewer records than its neighbours would have it log.

A node's share of its hop's records, over all hours that it reaches, says how many were to be
expected beside the records of the others. Shares drift, so only a quarter or less counts, and
only where chance alone would give so few about once in a thousand million hours.
"""

from __future__ import annotations

import math

import polars as pl

_RARE = -math.log(1e-9)
_FEW = 0.25
_AT = ["node", "hop", "hour"]


def thin(hours: pl.DataFrame) -> pl.Series:
    """Say for each row of node, hop, hour and records whether it has far too few.

    The bound on the tail of a Poisson count is that of Chernoff.
    """
    expected = _expected(hours)
    few = pl.col("records")
    log = pl.when(few > 0).then(few * (few / pl.col("expected")).log()).otherwise(0.0)
    rare = (pl.col("expected") - few + log) >= _RARE
    low = few <= _FEW * pl.col("expected")
    return expected.select((rare & low).fill_null(value=False).alias("thin")).to_series()


def _expected(hours: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with what the others' records of the hour make likely for each node."""
    rows = hours.select(*_AT, "records").with_columns(
        hop_records=pl.col("records").sum().over("hop", "hour"),
    )
    rows = rows.with_columns(others=pl.col("hop_records") - pl.col("records"))
    own, others = (pl.col(name).sum().over("node", "hop") for name in ("records", "others"))
    share = pl.when(others > 0).then(own / others)
    return rows.with_columns(expected=pl.col("others") * share)
