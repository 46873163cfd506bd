"""The tables of coverage: reach of each hop, holes, where logs end, and the map's numbers."""

from __future__ import annotations

from typing import Final

from forensics.report.spec import Column, Spec, count

_HOP: Final = Column("Hop", "hop")
_NODE: Final = Column("Node", "node", "id")
_UNDECIDED: Final = count("Of them not assessable", "undecided")

SPECS: Final = (
    Spec(
        "reach",
        "How much of what the other hops prove each hop's logs hold",
        lambda exposure: exposure.reach,
        (
            _HOP,
            Column("Held in the fuller hours (%)", "share", "measure"),
            Column("Counts as kept", "kept"),
            count("Proved elsewhere, not held (requests)", "lost"),
            _UNDECIDED,
        ),
        empty="No record was read.",
    ),
    Spec(
        "holes",
        "Hours in which a hop's logs lack requests that other hops prove",
        lambda exposure: exposure.holes,
        (_HOP, Column("Hour (UTC)", "hour", "time"), count("Requests", "requests"), _UNDECIDED),
        file="coverage.csv",
        empty="None found: every request that another hop proves is in the logs that were kept.",
    ),
    Spec(
        "cliffs",
        "Where a node's log begins late or ends early; a node added or taken away looks the same",
        lambda exposure: exposure.cliffs,
        (
            _NODE,
            _HOP,
            Column("Side", "side"),
            Column("First or last record (UTC)", "at", "time"),
            count("Others reach further by (h)", "hours"),
            count("Records of others there", "beyond"),
        ),
        empty="None found: the logs of all nodes begin and end within an hour of each other.",
    ),
    Spec(
        "counters",
        "Requests that servers counted (/metrics), and records of them; no counter names a request",
        lambda exposure: exposure.counters,
        (
            _NODE,
            Column("First scrape (UTC)", "first_at", "time"),
            Column("Last scrape (UTC)", "last_at", "time"),
            count("Scrapes", "scrapes"),
            count("Finished, as counted", "counted"),
            count("Requests in the node's records", "logged"),
        ),
        empty="No two scrapes with times of one server were read.",
    ),
    Spec(
        "heat",
        "Cells of the map in which records are missing",
        lambda exposure: [cell for cell in exposure.heat.cells if cell.missing],
        (
            _NODE,
            _HOP,
            Column("From (UTC)", "at", "time"),
            count("Hours due", "due"),
            count("Hours missing", "missing"),
            count("Records", "records"),
            Column("State", "state"),
        ),
        file="coverage.csv",
        empty="None found: no node lacks an hour, or records that other hops prove.",
    ),
)
