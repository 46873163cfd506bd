"""The share of a stretch of time that the logs cover: of each hour what the poorest hop holds."""

from __future__ import annotations

import math

import polars as pl

from forensics.activity import HOUR
from forensics.coverage.proved import PROVED


def share(rows: pl.DataFrame, start: int, end: int) -> float | None:
    """Return the percentage of ``[start, end)`` (µs) that is covered; None where it has no hour.

    A hop holds of an hour what share of its nodes lacks nothing there, or of the requests that it
    and other hops prove, whichever is less. A response shows as affected where every hop has its
    record: the hour counts with what the poorest hop holds, and as none where no log has any.
    Rounded down, so that 100 is said of nothing less.

    Args:
        rows: of :func:`forensics.coverage.proved.with_proved`.
        start: begin of the stretch; an hour of which a part lies within counts as a whole.
        end: its end.
    """
    first = start // HOUR * HOUR
    total = max(0, -(-(end - first) // HOUR))
    if not total:
        return None
    inside = rows.filter(pl.col("hour").is_between(first, end, closed="left"))
    short = pl.col("gap") | pl.col("unlogged") | pl.col("thin")
    node = pl.col("node").is_not_null() | (pl.col(PROVED) == 0)
    held, lost = pl.col("records").sum(), pl.col(PROVED).sum()
    hops = inside.group_by("hop", "hour").agg(
        whole=(~short).filter(node).mean().fill_null(1.0),
        held=pl.when(held + lost > 0).then(held / (held + lost)).otherwise(1.0),
        records=held,
    )
    hours = hops.group_by("hour").agg(
        covered=pl.min_horizontal("whole", "held").min(), records=pl.col("records").sum()
    )
    covered = hours.filter(pl.col("records") > 0).sort("hour")["covered"].to_list()
    return math.floor(10_000 * math.fsum(covered) / total + 1e-6) / 100
