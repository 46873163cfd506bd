"""Flagged requests that belong together: near in time, on one server, of like size and ratio.

A cluster ends where the next request of its server and kind is too far away: first in
time, then in size, then in ratio. No choice depends on the order of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from forensics.timing import kinds
from forensics.timing.bins import Integers, bin_of
from forensics.timing.work import SERVER

Kind = Literal["leak", "stall", "slow_node", "cache_hit", "other"]

HOUR = 3_600_000_000
_GAP = {"leak": 24 * HOUR, "fast": 24 * HOUR, "slow": HOUR // 2}
"""How long a server may show nothing within one cluster: a fault stays until it is mended."""
_BITS = 1
_SIZE_GAP, _RATIO_GAP = 2, 4
"""In half octaves: sizes twice, and ratios four times as large as the next belong elsewhere."""
LEAST_SLOW = 3
"""Fewer slow requests together are no cluster: busy batches make single ones every day."""
_WANTED = (
    "_row",
    "received_at",
    "prefill_node",
    "tenant_id",
    "prompt_tokens",
    "uncached_tokens",
    "timing_ratio",
    "timing_fast",
    "limit_low",
)
CLUSTERS: dict[str, pl.DataType] = {
    "cluster": pl.Int64(),
    "kind": pl.String(),
    "requests": pl.Int64(),
    "first_at": pl.Int64(),
    "last_at": pl.Int64(),
    "nodes": pl.List(pl.String),
    "median_ratio": pl.Float64(),
    "reason": pl.String(),
}


@dataclass(frozen=True)
class Clusters:
    """The clusters, under :data:`CLUSTERS`, and ``timing_cluster`` of each ``_row`` in one."""

    clusters: pl.DataFrame
    members: pl.DataFrame


def form(requests: pl.DataFrame) -> Clusters:
    """Form clusters of the flagged requests whose time and node are known.

    Args:
        requests: all of them, with scores, ``uncached_tokens``, limits and ``_row``.
    """
    flagged = pl.col("timing_fast") | pl.col("timing_slow")
    known = pl.col("received_at").is_not_null() & pl.col("prefill_node").is_not_null()
    found = requests.filter(flagged & known).select(_WANTED)
    if not found.height:
        return Clusters(pl.DataFrame(schema=CLUSTERS), _NOBODY)
    rows = _sessions(found.with_columns(server=SERVER))
    rows = kinds.with_causes(rows, requests)
    summed = _summed(rows).filter((pl.col("group") != "slow") | (pl.col("requests") >= LEAST_SLOW))
    named = kinds.name(summed, requests)
    named = named.sort("first_at", "server", "group", "session").with_row_index("cluster", 1)
    named = named.with_columns(pl.col("cluster").cast(pl.Int64))
    members = rows.join(named.select("session", "cluster"), on="session").select(
        "_row", timing_cluster="cluster"
    )
    return Clusters(named.select(*CLUSTERS), members)


_NOBODY = pl.DataFrame(schema={"_row": pl.UInt32, "timing_cluster": pl.Int64})


def _sessions(rows: pl.DataFrame) -> pl.DataFrame:
    """Number the sessions: ``session`` changes where one of the gaps is too wide."""
    over = (pl.col("prompt_tokens") >= pl.col("limit_low")).fill_null(value=False)
    fast = pl.when(over).then(pl.lit("leak")).otherwise(pl.lit("fast"))
    rows = rows.with_columns(group=pl.when("timing_fast").then(fast).otherwise(pl.lit("slow")))
    key = ["server", "group"]
    pairs = rows.select(key).unique().sort(key).with_row_index("session")
    rows = rows.join(pairs, on=key, maintain_order="left")
    gaps = rows.select(
        wait=pl.col("group").replace_strict(_GAP, return_dtype=pl.Int64),
        size=bin_of(pl.col("uncached_tokens"), _BITS),
        closeness=bin_of(pl.col("timing_ratio"), _BITS),
    )
    wait, size, closeness = (column.to_numpy() for column in gaps)
    session = rows["session"].cast(pl.Int64).to_numpy()
    session = _split(session, rows["received_at"].to_numpy(), wait)
    session = _split(session, size, _SIZE_GAP)
    session = _split(session, closeness, _RATIO_GAP)
    return rows.with_columns(session=pl.Series(session))


def _split(session: Integers, value: Integers, gap: Integers | int) -> Integers:
    """Number the sessions anew, also where the next larger value is more than the gap away."""
    order = np.argsort(value, kind="stable")
    order = order[np.argsort(session[order], kind="stable")]
    ranked = session[order]
    far = np.diff(value[order]) > (gap if isinstance(gap, int) else gap[order[1:]])
    number = np.cumsum((ranked[1:] != ranked[:-1]) | far)
    found = np.zeros(len(session), dtype=np.int64)
    found[order[1:]] = number
    return found


def _summed(rows: pl.DataFrame) -> pl.DataFrame:
    by_rank = rows.group_by("session", "prefill_node").len().sort("session", "prefill_node")
    ranks = by_rank.group_by("session").agg(ranks=pl.struct("prefill_node", "len"))
    summed = rows.group_by("session").agg(
        pl.len().cast(pl.Int64).alias("requests"),
        pl.col("server", "group").first(),
        pl.col("received_at").min().alias("first_at"),
        pl.col("received_at").max().alias("last_at"),
        pl.col("prefill_node").unique().sort().alias("nodes"),
        pl.col("timing_ratio").median().round_sig_figs(4).alias("median_ratio"),
        pl.col("repeated").sum().cast(pl.Int64),
    )
    return summed.join(ranks, on="session")
