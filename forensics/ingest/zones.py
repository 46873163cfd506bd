"""Nodes of a set whose clocks' zone nobody stated and nothing shows: UTC is assumed for them.

Whether a node's zone shows hangs on all of its logs, so it is told of the whole set and
not of the inputs that a run adds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

import polars as pl

from forensics.clock import Clocks
from forensics.sources.ledger import Ledger

_JUDGED = ("observations", "capacity", "traces")
"""Kinds of rows of which a report says whose zone it assumed."""


def zoneless(rows: pl.DataFrame, kind: str) -> set[str]:
    """Return the nodes of rows with times that have no zone."""
    if kind not in _JUDGED:
        return set()
    return set(rows["source_node"].filter(rows["naive"]).drop_nulls().unique())


def assumed(ledgers: Collection[Ledger], timezone: str | None) -> list[str]:
    """Return the nodes of a set for which UTC is assumed, sorted."""
    if timezone is not None:
        return []
    counts = sum((ledger.clock_counts() for ledger in ledgers), Counter[tuple[str, int]]())
    known = Clocks.infer(counts, None).offsets
    return sorted({node for ledger in ledgers for node in ledger.zoneless} - known.keys())
