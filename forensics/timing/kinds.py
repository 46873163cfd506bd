"""What a cluster looks like, and why: a leak, a prefix hit nobody counted, a stall, a slow node."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from forensics.timing.work import SERVER

_HOUR = 3_600_000_000
_SLOW_NODE = _HOUR
"""From this long on a slow time is the node's, not a stall."""
_MOST = 0.5
_SLOWER = 1.5
"""From so many times what is expected on a time is slow, whether chance explains it or not."""


def with_causes(rows: pl.DataFrame, requests: pl.DataFrame) -> pl.DataFrame:
    """Add ``repeated``: the same tenant sent that server a prompt as long within the hour before.

    Its pages may have been there still, whatever was logged as cached.
    """
    asked = rows.filter(pl.col("group") == "fast").select("server", "tenant_id").unique()
    asked = asked.filter(pl.col("tenant_id").is_not_null())
    if not asked.height:
        return rows.with_columns(repeated=pl.lit(value=False))
    mine = pl.col("received_at").is_not_null() & pl.col("tenant_id").is_in(
        asked["tenant_id"].implode()
    )
    sent = (
        requests.filter(mine)
        .select("_row", "tenant_id", "received_at", "prompt_tokens", server=SERVER)
        .drop_nulls()
        .sort("tenant_id", "server", "received_at", "_row")
    )
    longest = (
        pl.col("prompt_tokens")
        .rolling_max_by("received_at", window_size=f"{_HOUR}i", closed="left")
        .over("tenant_id", "server")
    )
    known = sent.select("_row", before=longest)
    rows = rows.join(known, on="_row", how="left", maintain_order="left")
    like = (pl.col("before") * 2 >= pl.col("prompt_tokens")).fill_null(value=False)
    return rows.with_columns(repeated=like & (pl.col("group") == "fast"))


def name(clusters: pl.DataFrame, requests: pl.DataFrame) -> pl.DataFrame:
    """Add ``kind`` and ``reason`` to clusters with ``group``, ``repeated`` and their span.

    ``ranks`` of each says how many of its requests ran on which of the server's ranks.
    """
    shares = _shares(clusters, requests)
    clusters = clusters.with_columns(
        pl.Series(name, [share[place] for share in shares], dtype=pl.Int64)
        for place, name in enumerate(("own", "mine", "others"))
    )
    slow = pl.col("group") == "slow"
    # Single slow requests of other ranks in the same time make the slow rank no faster.
    most = (pl.col("mine") >= pl.col("others") * _MOST) & (
        pl.col("own") >= pl.col("requests") * _MOST
    )
    lasting = pl.col("last_at") - pl.col("first_at") >= _SLOW_NODE
    hit = (pl.col("group") == "fast") & (pl.col("repeated") >= pl.col("requests") * _MOST)
    kind = (
        pl.when(pl.col("group") == "leak")
        .then(pl.lit("leak"))
        .when(hit)
        .then(pl.lit("cache_hit"))
        .when(slow & most & lasting)
        .then(pl.lit("slow_node"))
        .when(slow & most)
        .then(pl.lit("stall"))
        .otherwise(pl.lit("other"))
    )
    clusters = clusters.with_columns(kind=kind)
    reasons = [_reason(row) for row in clusters.iter_rows(named=True)]
    return clusters.with_columns(reason=pl.Series(reasons, dtype=pl.String))


def _reason(row: dict[str, Any]) -> str:
    key = f"{row['kind']} {row['group']}"
    return _REASONS[key].format(
        times=_times(row), share=_share(row), repeated=_again(row), where=_where(row)
    )


_REASONS = {
    "leak leak": "Prompts at or over the limit came back {times} times faster than their tokens "
    "can be computed.",
    "cache_hit fast": "{times} times faster than the tokens need that were not cached; {repeated} "
    "followed a prompt of the same tenant half as long or longer within the hour: a prefix hit "
    "that was not counted would explain it. That the prompts began alike is not known.",
    "other fast": "{times} times faster than their tokens need, and not known to be over the "
    "limit; no earlier prompt of the same tenant explains it.",
    "slow_node slow": "{share} requests of {where} in that time took longer than their tokens "
    "need, these about {times} times as long, for an hour or longer.",
    "stall slow": "{share} requests of {where} in that time took longer than their tokens need, "
    "these about {times} times as long, for less than an hour.",
    "other slow": "{share} requests of {where} in that time took longer than their tokens need, "
    "these about {times} times as long; the others did not.",
}


def _times(row: dict[str, Any]) -> str:
    """Return how many times faster or slower than expected, two digits at the least."""
    ratio = max(row["median_ratio"], 1 / row["median_ratio"])
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.1f}"


def _share(row: dict[str, Any]) -> str:
    return f"{row['mine']:,} of {row['others']:,}"


def _where(row: dict[str, Any]) -> str:
    return "the node" if len(row["nodes"]) == 1 else "its nodes"


def _again(row: dict[str, Any]) -> str:
    return f"{row['repeated']:,} of {row['requests']:,}"


def _shares(clusters: pl.DataFrame, requests: pl.DataFrame) -> list[tuple[int, int, int]]:
    """Return for each cluster its requests, all slow ones there in that time, and all tested.

    All are of the ranks of which most were slow, where there is such a rank: a healthy rank of
    the same server says nothing of a slow one. Slow are also those of another cluster.
    """
    times = _times_by_node(requests)
    slow = _times_by_node(requests.filter(pl.col("timing_ratio") >= _SLOWER))
    found = []
    for ranks, first, last in clusters.select("ranks", "first_at", "last_at").iter_rows():
        counts = []
        for rank in ranks:
            node = rank["prefill_node"]
            within = (_within(one.get(node, _NO_TIMES), first, last) for one in (slow, times))
            counts.append((rank["len"], *within))
        mostly = [one for one in counts if one[1] >= one[2] * _MOST] or counts
        own, mine, total = (sum(column) for column in zip(*mostly, strict=True))
        found.append((own, mine, total))
    return found


_NO_TIMES = np.zeros(0, dtype=np.int64)


def _within(times: npt.NDArray[np.int64], first: int, last: int) -> int:
    low, high = np.searchsorted(times, [first, last + 1])
    return int(high - low)


def _times_by_node(requests: pl.DataFrame) -> dict[str, npt.NDArray[np.int64]]:
    known = requests.select("received_at", "prefill_node", "timing_ratio").drop_nulls()
    return {
        str(node[0]): np.sort(rows["received_at"].to_numpy())
        for node, rows in known.partition_by("prefill_node", as_dict=True).items()
    }
