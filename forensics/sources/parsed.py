"""What a reader hands on: typed frames, and a ledger of what it could not take.

``read == kept + ignored + duplicate + unreadable`` is an identity over records:
each record that was seen is in exactly one of the four.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import polars as pl

Reasons = Counter[str]


@dataclass(frozen=True)
class Unread:
    """Where an unread record stands and why it was not read; never the record."""

    line: int | None
    offset: int | None
    reason: str


@dataclass
class Parsed:
    """Records of one batch.

    ``observations``, ``capacity``, ``markers`` and ``traces`` hold schema columns plus
    :data:`forensics.schema.ORIGIN`; ``activity`` those of batch lines, already summed, with
    ``naive`` and ``source_node`` alone. ``clock`` counts, per node, the offsets in
    microseconds between the node's own wall clock and its epoch stamps.
    """

    read: int = 0
    kept: int = 0
    observations: list[pl.DataFrame] = field(default_factory=list)
    capacity: list[pl.DataFrame] = field(default_factory=list)
    markers: list[pl.DataFrame] = field(default_factory=list)
    traces: list[pl.DataFrame] = field(default_factory=list)
    activity: list[pl.DataFrame] = field(default_factory=list)
    ignored: Reasons = field(default_factory=Counter)
    unread: list[Unread] = field(default_factory=list)
    bad_values: Reasons = field(default_factory=Counter)
    clock: Counter[tuple[str, int]] = field(default_factory=Counter)
    notes: Reasons = field(default_factory=Counter)
