"""What a slot's handle expected, or what was found in the slot, is not known."""

from __future__ import annotations

import polars as pl

from forensics.findings.base import Finding
from forensics.schema import GENERATION_UNREAD, GENERATIONS, OWNER_UNREAD

_HALF = pl.col(GENERATIONS[0]).is_null() != pl.col(GENERATIONS[1]).is_null()

SLOT_UNREAD = Finding(
    code="slot_unread",
    weight="circumstantial",
    needs=(*GENERATIONS, "slot_owner"),
    expression=pl.col(OWNER_UNREAD).fill_null(value=False)
    | pl.col(GENERATION_UNREAD).fill_null(value=False)
    | _HALF,
    meaning="the owner or a generation of the slot could not be read, or was left out: "
    "counts that agree clear nobody then",
    does_not_prove="that the slot was another's",
)
