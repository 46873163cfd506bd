"""Which request of one report is which of another.

Attempt numbers shift when a log brings an earlier hand-off to light, and ids and tenants
become known; so rows are paired by the surest key first, and a key counts only where it
is unique on both sides.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True)
class Key:
    """One way to pair rows: columns that must be equal, those of them that must be known.

    ``new`` names the columns of the new report where they are others; ``one_tenant`` asks
    that at most one of the two rows names a tenant.
    """

    old: tuple[str, ...]
    known: tuple[str, ...]
    new: tuple[str, ...] | None = None
    one_tenant: bool = False


KEYS: tuple[Key, ...] = (
    Key(("request_id", "tenant_id", "transfer_id"), ("transfer_id",)),
    Key(("request_id", "transfer_id"), ("transfer_id",), one_tenant=True),
    Key(("transfer_id", "tenant_id"), ("transfer_id", "tenant_id")),
    Key(("request_id", "tenant_id", "received_at"), ("received_at",)),
    Key(("request_id", "tenant_id", "attempt"), ()),
    Key(("request_id", "attempt"), (), one_tenant=True),
    Key(("request_id",), ("request_id",), ("prefill_request_id",), one_tenant=True),
    Key(("prefill_request_id",), ("prefill_request_id",), ("request_id",), one_tenant=True),
)


def pair(old: pl.DataFrame, new: pl.DataFrame) -> pl.DataFrame:
    """Return pairs of row numbers, ``old_at`` and ``new_at``: each row at most once.

    Args:
        old: listed requests of the one report.
        new: those of the other.
    """
    left, right = old.with_row_index("old_at"), new.with_row_index("new_at")
    found = [pl.DataFrame(schema={"old_at": pl.UInt32, "new_at": pl.UInt32})]
    for key in KEYS:
        pairs = _by(left, right, key)
        found.append(pairs)
        left = left.join(pairs, on="old_at", how="anti")
        right = right.join(pairs, on="new_at", how="anti")
    return pl.concat(found)


def _by(left: pl.DataFrame, right: pl.DataFrame, key: Key) -> pl.DataFrame:
    to = key.new or key.old
    known = [to[key.old.index(name)] for name in key.known]
    one = _unique(left, key.old, key.known, "old_at", "old_tenant")
    other = _unique(right, to, known, "new_at", "new_tenant")
    pairs = one.join(other, left_on=list(key.old), right_on=list(to), nulls_equal=True)
    if key.one_tenant:
        pairs = pairs.filter(pl.col("old_tenant").is_null() | pl.col("new_tenant").is_null())
    return pairs.select("old_at", "new_at")


def _unique(
    rows: pl.DataFrame,
    names: tuple[str, ...],
    known: list[str] | tuple[str, ...],
    at: str,
    as_: str,
) -> pl.DataFrame:
    kept = rows.filter(
        pl.all_horizontal(pl.lit(value=True), *(pl.col(n).is_not_null() for n in known))
    )
    kept = kept.select(at, pl.col("tenant_id").alias(as_), *names)
    return kept.filter(pl.struct(names).is_unique()) if kept.height else kept


_SHARED = (
    ("transfer_id", "transfer_id"),
    ("request_id", "prefill_request_id"),
    ("prefill_request_id", "request_id"),
    ("request_id", "request_id"),
)
"""What rows of one hand-off share, though one report lists it as two requests."""


def kin(alone: pl.DataFrame, others: pl.DataFrame) -> pl.DataFrame:
    """Find, for rows that no row of the other report is, the row that they are now part of.

    Args:
        alone: rows of one report, with ``at``.
        others: every listed row of the other report.

    Returns:
        ``at`` with ``kin_request_id``, ``kin_attempt``, ``kin_tier`` and ``kin_reasons``.
    """
    left = alone.select("at", *_KIN)
    found = []
    for own, theirs in _SHARED:
        named = others.select(pl.col(name).alias(f"kin_{name}") for name in _KIN)
        pairs = left.join(named, left_on=own, right_on=f"kin_{theirs}", how="inner", coalesce=False)
        pairs = pairs.filter(_may_be_one("tenant_id"), _may_be_one("transfer_id"))
        first = pairs.sort("at", "kin_request_id", "kin_attempt", "kin_tenant_id").unique(
            "at", keep="first", maintain_order=True
        )
        found.append(first.select("at", "kin_request_id", "kin_attempt", "kin_tier", "kin_reasons"))
        left = left.join(first, on="at", how="anti")
    return pl.concat(found)


_KIN = (
    "request_id", "prefill_request_id", "transfer_id", "attempt", "tenant_id", "tier", "reasons",
)  # fmt: skip


def _may_be_one(name: str) -> pl.Expr:
    """Two tenants are two requests, two hand-offs two attempts; one that is unknown may be both."""
    own, theirs = pl.col(name), pl.col(f"kin_{name}")
    return own.is_null() | theirs.is_null() | (own == theirs)
