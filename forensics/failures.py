"""Which hand-offs failed by some record, and were not completed afterwards by another.

What each side counted shows no pages that arrived. So where a failure is recorded, the counts
alone clear nobody: a transfer that was complete, and later than the failure, does. Blocks that
prefill declined to hand over are no failure of that kind: decode computes them itself, or gives up.
"""

from __future__ import annotations

import polars as pl

from forensics.columns import ensure

NAME = "handoff_failed"
"""Column of requests: a failure of the hand-off is recorded, and nothing of after undoes it."""

_COLUMNS = (
    *("transfer_status", "reserved_pages", "transferred_pages"),
    *("received_at", "finished_at", "released_at", "expired_refused"),
)


def attach(requests: pl.DataFrame, joined: pl.DataFrame) -> pl.DataFrame:
    """Add :data:`NAME` to requests.

    Args:
        requests: folded, with ``handoff``.
        joined: the records behind them, with ``handoff``; times in microseconds.
    """
    if "transfer_status" not in joined.columns:
        return requests.with_columns(pl.lit(value=False).alias(NAME))
    rows = ensure(joined, _COLUMNS).select("handoff", *_COLUMNS)
    status = pl.col("transfer_status")
    failed = status.is_in(["failed", "aborted"]).fill_null(value=False)
    failed &= ~pl.col("expired_refused").fill_null(value=False)
    rows = rows.join(rows.filter(failed).select("handoff").unique(), on="handoff", how="semi")
    whole = (status == "complete") | (pl.col("transferred_pages") == pl.col("reserved_pages"))
    at = pl.max_horizontal("received_at", "finished_at", "released_at")
    each = rows.group_by("handoff").agg(
        failed=at.filter(failed).max(),
        whole=at.filter(whole.fill_null(value=False) & ~failed).max(),
    )
    undone = (pl.col("whole") > pl.col("failed")).fill_null(value=False)
    keys = each.filter(~undone)["handoff"]
    return requests.with_columns(pl.col("handoff").is_in(keys.implode()).alias(NAME))
