"""The two sides of a hand-off disagree about whose it is."""

from __future__ import annotations

import polars as pl

from forensics.findings.base import Finding
from forensics.schema import OWNER_UNREAD

_GENERATION = pl.col("owner_generation") != pl.col("read_generation")
_UNKNOWN = pl.col(OWNER_UNREAD).fill_null(value=False)
_NOBODYS = pl.col("read_generation").is_not_null() & pl.col("slot_owner").is_null() & ~_UNKNOWN
_ANOTHERS = pl.col("owners_are_tenants") & (pl.col("slot_owner") != pl.col("tenant_id"))
_SIDES = pl.col("sender_tenant") != pl.col("receiver_tenant")

OWNER_MISMATCH = Finding(
    code="owner_mismatch",
    weight="direct",
    needs=("owner_generation", "read_generation", "slot_owner", "sender_tenant", "receiver_tenant"),
    expression=_GENERATION.fill_null(value=False)
    | _NOBODYS
    | _ANOTHERS.fill_null(value=False)
    | _SIDES.fill_null(value=False)
    | pl.col("tenants_differ"),
    meaning="generation, owner or tenant differ between the sides, or a slot read is logged as "
    "nobody's",
    does_not_prove="what was in the slot or page",
)
