"""Three rates side by side: they differ by orders of magnitude, and each alone misleads."""

from __future__ import annotations

import polars as pl

from forensics.exposure import Rate, stamp
from forensics.verdicts import in_scope

CERTAIN = ("confirmed", "probable")
_HOUR = 3_600_000_000
_MINUTES = len("2026-08-27T00:00")


def rates(requests: pl.DataFrame) -> list[Rate]:
    """Return the share of responses, of the worst hour, and of tenants with at least one.

    Args:
        requests: with their findings, ``tier``, ``tenant_id`` and ``received_at`` in microseconds.
    """
    hit = pl.col("tier").is_in(CERTAIN).alias("hit")
    rows = in_scope(requests, "tenant_id", "received_at", hit)
    found = [_rate("requests", rows["hit"], None)]
    hours = rows.drop_nulls("received_at").group_by(hour=pl.col("received_at") // _HOUR * _HOUR)
    worst = (
        hours.agg(pl.col("hit").sum().cast(pl.Int64), total=pl.len().cast(pl.Int64))
        .filter(pl.col("hit") > 0)
        .with_columns(share=pl.col("hit") / pl.col("total"))
        .sort("share", "hit", "hour", descending=[True, True, False])
    )
    if worst.height:
        at, hit, total = worst.select("hour", "hit", "total").row(0)
        hour = (stamp(at) or "")[:_MINUTES].replace("T", " ")
        found.append(Rate(f"requests of the worst hour, {hour} UTC", hit, total, stamp(at)))
    tenants = rows.drop_nulls("tenant_id").group_by("tenant_id").agg(pl.col("hit").any())
    found.append(_rate("tenants with at least one", tenants["hit"], None))
    return found


def _rate(name: str, hit: pl.Series, at: str | None) -> Rate:
    return Rate(name, int(hit.sum()), len(hit), at)
