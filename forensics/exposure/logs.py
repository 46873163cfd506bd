"""What was read, what it spans, and how far its clocks lie apart."""

from __future__ import annotations

from msgspec import Struct

from forensics.exposure.times import Time


class NodeCoverage(Struct, frozen=True):
    """What the logs of one node (or the gateway) span, and what they say of its work.

    ``batches`` and ``sequences`` are of batch lines, which name no request; an hour is
    unlogged if it has some and no request of the node is recorded then. ``duplicates`` are
    records that were left out, because an equal one stands for them; ``skipped`` numbers of
    prompts that the ids of a call prove and no record has.
    """

    node: str | None
    hop: str
    first_at: Time | None
    last_at: Time | None
    records: int
    hours: int
    hours_with_records: int
    gaps: int
    batches: int = 0
    sequences: int = 0
    unlogged_hours: int = 0
    thin_hours: int = 0
    duplicates: int = 0
    skipped: int = 0


class ClockPair(Struct, frozen=True):
    """How far two nodes' records of the same requests lie apart, microseconds.

    The second's time less the first's, the way between them included; only requests that an
    identifier joins are compared. No time is moved by it.
    """

    first: str
    second: str
    requests: int
    median_us: int
    p5_us: int
    p95_us: int


class FormatCount(Struct, frozen=True):
    """Records of one format: ``read == kept + ignored + duplicate + unreadable``."""

    format: str
    read: int
    kept: int
    ignored: dict[str, int]
    duplicate: int
    unreadable: dict[str, int]
    bad_values: dict[str, int]
