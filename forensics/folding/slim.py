"""What the stages after folding ask of records: of all of them few columns."""

from __future__ import annotations

import polars as pl

from forensics import schema
from forensics.folding.held import NUMBERED

NAMES = ("request_id", "prefill_request_id", "tenant_id", "reserved_at", "released_at")
"""Asked for where canaries, reviewers or numbered ids are to be matched."""
_ALWAYS = ("handoff", "hop", "earlier", "attached", "observation", "file", "assumed", "received_at")
_FLAGS = tuple(column.name for column in schema.ENGINE_COLUMNS if column.kind == "flag")
ASKED = (
    *_ALWAYS,
    *("prefill_node", "decode_node", "finished_at", "prefill_ms"),
    *("rejected", "rejection_code", "transfer_status"),
    *_FLAGS,
)
"""Columns that are kept of all records."""


def wanted(*, named: bool) -> frozenset[str]:
    """Return the columns that later stages may ask for; with ``named`` ids as well."""
    return frozenset((*ASKED, *(NAMES if named else ())))


def slim(joined: pl.DataFrame, *, named: bool) -> pl.DataFrame:
    """Return the columns of records that later stages may ask for, and that any of these filled."""
    here = wanted(named=named) & set(joined.columns)
    return without_empty(joined.select(name for name in NUMBERED.dtypes if name in here))


def without_empty(rows: pl.DataFrame) -> pl.DataFrame:
    """Leave out columns that no record filled, which later stages take as if they were there."""
    always = {*_ALWAYS, *NAMES, "prefill_ms"}
    empty = [n for n in rows.columns if n not in always and rows[n].null_count() == rows.height]
    return rows.drop(empty)
