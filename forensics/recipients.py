"""Tenants in each population: recipients of affected responses, and possible sources.

The two are never added up: a tenant can be in both, and what it has to be told
differs.
"""

from __future__ import annotations

import polars as pl

from forensics.attribution.together import slices
from forensics.direction import received_tier, receives
from forensics.exposure import Tenant, stamp
from forensics.schema import AFFECTED_TIERS, TIERS

_COUNTED = ("confirmed", "probable", "possible", "not_assessable")


def recipients(requests: pl.DataFrame, mechanism: str = "read") -> list[Tenant]:
    """Return one row per tenant with an affected request or one that cannot be judged."""
    rows = requests.filter(pl.col("tier").is_in(_COUNTED) & receives(mechanism))
    rows = rows.with_columns(tier=received_tier(mechanism))
    affected = pl.col("tier").is_in(AFFECTED_TIERS)
    stale = pl.col("stale_pages")
    table = rows.group_by("tenant_id").agg(
        *((pl.col("tier") == tier).sum().cast(pl.Int64).alias(tier) for tier in _COUNTED),
        pl.len().cast(pl.Int64).alias("requests"),
        (affected & (pl.col("rung") == "delivered")).sum().cast(pl.Int64).alias("responses"),
        pl.when(stale.filter(affected).count() > 0)
        .then(stale.filter(affected).sum())
        .alias("pages"),
        pl.col("received_at").filter(affected).min().alias("first_at"),
        pl.col("received_at").filter(affected).max().alias("last_at"),
    )
    return _tenants(table, "recipient")


def sources(pairs: pl.DataFrame, resident: pl.DataFrame, affected: pl.DataFrame) -> list[Tenant]:
    """Return one row per tenant whose data affected responses may hold.

    ``requests`` counts the tenant's requests that ran there before, or that wrote there under a
    fault that writes; ``responses`` the affected responses that may hold its data.
    """
    times = affected.select("request_id", "attempt", read="received_at", recipient="tenant_id")
    parts = pl.concat([_by_source(part, times) for part in slices(pairs)])
    table = (
        parts.group_by("tenant_id")
        .agg(
            pl.col(*_COUNTED, "responses").sum(),
            pl.when(pl.col("modelled").sum() > 0).then(pl.col("pages").sum()).alias("pages"),
            pl.col("first_at").min(),
            pl.col("last_at").max(),
            pl.col("same").all(),
        )
        .join(resident, on="tenant_id", how="left", nulls_equal=True)
    )
    return _tenants(table, "source")


def _by_source(pairs: pl.DataFrame, times: pl.DataFrame) -> pl.DataFrame:
    """Count the responses of some pairs by source; all pairs of a response are among them."""
    ranked = pl.col("tier").cast(pl.Enum(_COUNTED))
    once = pairs.group_by("request_id", "attempt", "source_tenant_id").agg(
        ranked.min().alias("best"),
        pl.col("pages").sum().alias("pages"),
        pl.col("pages").count().alias("modelled"),
        pl.col("same_tenant").all(),
    )
    return (
        once.join(times, on=["request_id", "attempt"], how="left")
        .group_by(pl.col("source_tenant_id").alias("tenant_id"))
        .agg(
            *((pl.col("best") == tier).sum().cast(pl.Int64).alias(tier) for tier in _COUNTED),
            pl.len().cast(pl.Int64).alias("responses"),
            pl.col("pages").sum(),
            pl.col("modelled").sum(),
            pl.col("read").min().alias("first_at"),
            pl.col("read").max().alias("last_at"),
            pl.col("same_tenant").all().alias("same"),
        )
    )


def _tenants(table: pl.DataFrame, population: str) -> list[Tenant]:
    found = []
    for row in table.iter_rows(named=True):
        tier = next(tier for tier in TIERS if row.get(tier))
        found.append(
            Tenant(
                tenant_id=row["tenant_id"],
                population=population,
                tier=tier,
                n_confirmed=row["confirmed"],
                n_probable=row["probable"],
                n_possible=row["possible"],
                n_not_assessable=row["not_assessable"],
                requests=row["requests"] or 0,
                responses=row["responses"],
                pages=row["pages"],
                first_at=stamp(row["first_at"]),
                last_at=stamp(row["last_at"]),
                same_tenant_only=bool(row.get("same", False)),
            )
        )
    return sorted(found, key=_rank)


def _rank(tenant: Tenant) -> tuple[int, int, int, bool, str]:
    affected = tenant.n_confirmed + tenant.n_probable + tenant.n_possible
    return (
        TIERS.index(tenant.tier),
        -affected,
        -tenant.n_not_assessable,
        tenant.tenant_id is None,
        tenant.tenant_id or "",
    )
