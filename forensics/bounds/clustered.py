"""Requests of one tenant are alike: what that does to a share of requests."""

from __future__ import annotations

import polars as pl

from forensics.bounds.statistical import effective, share
from forensics.exposure import ShareBound
from forensics.wording import count


def clustered(hits: pl.DataFrame) -> list[ShareBound]:
    """Return the share of tenants with at least one, with its limits, and what clustering costs.

    Args:
        hits: ``tenant_id`` and ``hit`` of each request in scope.
    """
    tenants = (
        hits.drop_nulls("tenant_id")
        .group_by("tenant_id")
        .agg(n=pl.len().cast(pl.Int64), k=pl.col("hit").sum().cast(pl.Int64))
    )
    if tenants.height < 2 or not tenants["k"].sum():
        return []
    found, all_ = int((tenants["k"] > 0).sum()), tenants.height
    limits, requests = share(found, all_), int(tenants["n"].sum())
    alike = correlation(tenants)
    worth = effective(requests, all_, alike)
    low, high = float(limits.low or 0.0), float(limits.high or 1.0)
    said = (
        f"{found:,} of {count(all_, 'tenant')} with a confirmed or probable response: between "
        f"{low:.1%} and {high:.1%} of tenants like these ({limits.level:.0%}, {limits.sided}, "
        f"{limits.method}), if tenants are independent of each other. Requests of one tenant are "
        f"not: their correlation is {alike:.3f}, and {requests:,} requests tell as much as about "
        f"{worth:,.0f} independent ones (Kish)."
    )
    return [ShareBound("tenants", low, high, limits.level, limits.sided, limits.method, said)]


def correlation(tenants: pl.DataFrame) -> float:
    """Return the correlation of requests within a tenant, from 0 to 1 (analysis of variance).

    Args:
        tenants: requests ``n`` and hits ``k`` of each; at least two.
    """
    n, k = tenants["n"].cast(pl.Float64), tenants["k"].cast(pl.Float64)
    total, groups = float(n.sum()), tenants.height
    if total <= groups:
        return 0.0
    mean, shares = float(k.sum()) / total, k / n
    between = float((n * (shares - mean) ** 2).sum()) / (groups - 1)
    within = float((n * shares * (1 - shares)).sum()) / (total - groups)
    size = (total - float((n**2).sum()) / total) / (groups - 1)
    spread = between + (size - 1) * within
    return min(1.0, max(0.0, (between - within) / spread)) if spread else 0.0
