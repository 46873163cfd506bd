"""Under a fault that writes, or of unknown direction: who ran beside a trigger, and who wrote."""

from __future__ import annotations

import polars as pl

from forensics.findings.base import Finding

CO_RESIDENT = Finding(
    code="co_resident",
    weight="beside",
    needs=("decode_node", "reserved_at", "released_at"),
    expression=pl.col("ran_beside_write"),
    meaning="it ran on a decode rank while or after a request wrote there that met the condition",
    does_not_prove="that its pages were among those that were written over",
)

UNDELIVERED_WRITE = Finding(
    code="undelivered_write",
    weight="beside",
    needs=("reserved_pages", "completion_tokens"),
    expression=pl.col("wrote_undelivered"),
    meaning="it met the condition and held pages: what it wrote stays, though nothing was answered",
    does_not_prove="that it wrote outside of its own pages",
)

BESIDE_UNJUDGED = Finding(
    code="beside_unjudged",
    weight="beside",
    needs=("decode_node", "reserved_at", "released_at"),
    expression=pl.col("ran_beside_unjudged"),
    meaning="it ran on a decode rank while or after a request held pages there of which it is not "
    "known whether it met the condition: that nothing was written beside it is not shown",
    does_not_prove="that the other request met the condition, or wrote outside of its own pages",
)
