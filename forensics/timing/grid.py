"""Where times lie: counts by tokens to compute and milliseconds, apart by what they are taken for.

A picture of ten million requests has as many cells as one of ten thousand.
"""

from __future__ import annotations

import polars as pl

from forensics.timing.bins import bin_of, low_of

BITS = 1
"""Cells an octave, as a power of two, both ways."""
LONE = {"timing_fast": "too fast, in no cluster", "timing_slow": "slow, in no cluster"}
CELLS: dict[str, pl.DataType] = {
    "tokens": pl.Int64(),
    "ms": pl.Float64(),
    "kind": pl.String(),
    **dict.fromkeys(("requests", "fast", "slow"), pl.Int64()),
}
_CELL = ("tokens", "ms", "kind")


def count(requests: pl.DataFrame, clusters: pl.DataFrame) -> pl.DataFrame:
    """Return ``tokens`` and ``ms``, the lower edges of each cell, ``kind`` and ``requests``.

    ``kind`` is the cluster's of flagged requests, or one of :data:`LONE`; null for all others.
    ``fast`` and ``slow`` say how many of the requests are flagged as which.

    Args:
        requests: with ``uncached_tokens``, ``prefill_ms``, scores and ``timing_cluster``.
        clusters: of :mod:`forensics.timing.clusters`.
    """
    asked = ("timing_cluster", *LONE, "uncached_tokens", "prefill_ms")
    tested = requests.select(pl.col(asked).filter(pl.col("timing_ratio").is_not_null()))
    binned = tested.select(
        pl.col("timing_cluster", *LONE),
        tokens=bin_of(pl.col("uncached_tokens"), BITS),
        ms=bin_of(pl.col("prefill_ms"), BITS),
    )
    counted = binned.group_by(binned.columns).agg(pl.len().cast(pl.Int64).alias("requests"))
    kinds = clusters.select(timing_cluster="cluster", kind="kind")
    named = counted.join(kinds, on="timing_cluster", how="left")
    lone = [pl.when(column).then(pl.lit(kind)) for column, kind in LONE.items()]
    named = named.with_columns(
        low_of(pl.col("tokens"), BITS).cast(pl.Int64),
        low_of(pl.col("ms"), BITS),
        kind=pl.coalesce("kind", *lone),
    )
    number = pl.col("requests")
    cells = named.group_by(_CELL).agg(
        number.sum(),
        fast=number.filter("timing_fast").sum(),
        slow=number.filter("timing_slow").sum(),
    )
    return cells.sort(_CELL, nulls_last=False)
