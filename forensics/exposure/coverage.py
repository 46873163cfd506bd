"""Coverage in the document: how far each hop's logs reach, where they end, what they lack."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Hop = Literal["gateway", "prefill", "decode"]
State = Literal["records", "partly missing", "missing", "none due", "perhaps missing"]


class HopReach(Struct, frozen=True):
    """How much of what its neighbours prove the logs of a hop hold.

    ``share`` is that of the fuller hours, in percent. ``kept`` says that they hold so much
    that any missing record counts as lost; ``lost`` counts requests whose record was lost for this
    or another reason, ``undecided`` those of them that could not be judged.
    """

    hop: Hop
    share: float
    kept: bool
    lost: int
    undecided: int


class Hole(Struct, frozen=True):
    """One hour in which a hop's logs lack requests that other hops prove."""

    hop: Hop
    hour: str
    requests: int
    undecided: int


class Counted(Struct, frozen=True):
    """What a server counted of the requests it finished between two scrapes, and its records.

    ``counted`` is the least that the counter can mean; it names no request.
    """

    node: str
    first_at: str | None
    last_at: str | None
    scrapes: int
    counted: int
    logged: int


class Cliff(Struct, frozen=True):
    """Where a node's log begins or ends while others go on: hours, and records of theirs."""

    node: str | None
    hop: str
    side: Literal["start", "end"]
    at: str | None
    hours: int
    beyond: int


class HeatCell(Struct, frozen=True):
    """One node (or the gateway) in one stretch of time: hours due, missing, and records."""

    node: str | None
    hop: str
    at: str
    due: int
    missing: int
    records: int
    state: State


class Heat(Struct, frozen=True):
    """The heat map: ``cells`` of ``hours`` each, of ``rows`` of ``nodes`` in all."""

    hours: int = 1
    rows: int = 0
    nodes: int = 0
    cells: list[HeatCell] = []
