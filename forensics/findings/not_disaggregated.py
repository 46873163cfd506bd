"""There was no hand-off to fall short."""

from __future__ import annotations

import polars as pl

from forensics.findings.base import SLOT_POOL, Finding

_APART = pl.coalesce("prefill_disaggregated", "decode_disaggregated")
_ANY_APART = pl.max_horizontal("prefill_disaggregated", "decode_disaggregated")

NOT_DISAGGREGATED = Finding(
    code="not_disaggregated",
    weight="clears",
    needs=("prefill_node", "decode_node"),
    expression=_APART.is_not_null() & ~_ANY_APART & ~SLOT_POOL,
    meaning="the node runs prefill and decode in one engine: a rejected prompt ends there",
    does_not_prove="anything about slot pools, or about other faults of that engine",
)
