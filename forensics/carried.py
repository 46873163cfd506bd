"""What a capacity record leaves out stands as it stood before.

A gate, a scrape or a person states what they could see: that a record says no page size does not
unset it. A record whose figures are other than those in force is of another start; of that,
nothing is known but what it says, and whose part the server plays.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from forensics.boots import EPOCH_DTYPES, Row

_FIGURES = ("pool_tokens", "context_tokens", "page_tokens", "input_limit_tokens", "engine_version")
"""Where one of these differs, the server was started anew."""
_LASTING = ("role", "engine", "disaggregated")
"""What a server keeps from start to start."""
_KEPT = (
    *_FIGURES,
    *_LASTING,
    "pool_basis",
    "model_version",
    "auto_truncate",
    "allocator",
    "config",
)


def completed(records: pl.DataFrame, boots: pl.DataFrame) -> pl.DataFrame:
    """Return capacity records with what they leave out, as their node's row before has it.

    Args:
        records: rows that were logged as capacity records.
        boots: rows of the same nodes that were read off logs.
    """
    if not records.select(pl.any_horizontal(pl.col(_KEPT).is_null()).any()).item():
        return records
    told = pl.concat([boots.with_columns(_own=False), records.with_columns(_own=True)])
    first = ("node", "effective_at", "_own")
    told = told.sort(*first, *(name for name in EPOCH_DTYPES if name not in first))
    return pl.DataFrame(list(_rows(told)), schema=EPOCH_DTYPES)


def _rows(told: pl.DataFrame) -> Iterator[Row]:
    before: Row = {}
    for row in told.iter_rows(named=True):
        record = row.pop("_own")
        if record and row["node"] is not None and row["node"] == before.get("node"):
            names = _LASTING if _other_start(before, row) else _KEPT
            row |= {name: before[name] for name in names if row[name] is None}
        if record:
            yield row
        before = row


def _other_start(before: Row, row: Row) -> bool:
    known = ((before[name], row[name]) for name in _FIGURES)
    return any(a is not None and b is not None and a != b for a, b in known)
