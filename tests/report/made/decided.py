"""Checklist, clocks, bounds and isolation of a made-up incident."""

from forensics.exposure import (
    Check,
    Cliff,
    Clock,
    Clocks,
    Counted,
    ErrorRate,
    Heat,
    HeatCell,
    Hole,
    HopReach,
    LimitCost,
    Neighbour,
    PoolAudit,
    PoolCost,
    Property,
    Review,
    ShareBound,
    Validated,
    Validation,
)
from tests.report.made.names import at


def checklist() -> list[Check]:
    return [
        Check(1, "Pool against context asserted at start-up", "fail", "8 nodes started short"),
        Check(2, "Rejected is an end state of its own", "fail", "88 rejected and served"),
        Check(3, "Transfer counts verified on both sides", "pass", "no short transfer since"),
        Check(4, "Failure path tested with content", "not observable", "logs hold no content"),
        Check(5, "Gate runs on every capacity change", "not observable", "no gate run logged"),
    ]


def clock(rule: str, applies: str, **more: str | None) -> Clock:
    known = {
        "rule": rule, "jurisdiction": "EU", "role": "processor", "duty": "tell the controller",
        "trigger": "awareness", "duration": "PT72H", "calendar": "hours", "status": "in force",
        "source": "Art. 33", "as_of": "2026-11-29", "applies": applies, "reason": None,
        "started_at": None, "due_at": None, "done_at": None, "note": "to be assessed",
    }  # fmt: skip
    return Clock(**known | more)


def clocks(*rules: str) -> Clocks:
    running = {"started_at": at(1), "due_at": at(4), "done_at": at(3)}
    found = [clock(rule, "yes", **running) for rule in rules]
    return Clocks("ab" * 32, "2026-11-29", ["one rule is old"], [*found, clock("other", "assess")])


def edges(node: str) -> dict:
    """What is missing, and by how much the counts could be wrong."""
    at = "2026-09-01T10:00:00.000000Z"
    share = "40 of 40 (91.2 to 100.0 %)"
    return {
        "reach": [HopReach("decode", 98.5, kept=True, lost=12, undecided=9)],
        "holes": [Hole("decode", at, 12, 9)],
        "cliffs": [Cliff(node, "decode", "start", at, 5, 210)],
        "counters": [Counted("decode-01", at, at, 24, 5_210, 5_190)],
        "heat": Heat(
            6,
            2,
            3,
            [
                HeatCell(node, "decode", at, 6, 2, 40, "partly missing"),
                HeatCell(None, "gateway", at, 6, 0, 90, "records"),
            ],
        ),
        "sensitivity": [Neighbour("as judged", "as judged", 1, 2, 3, 4, 5, 6, 0)],
        "share_bounds": [
            ShareBound("tenants", 0.1, 0.3, 0.95, "two-sided", "Clopper-Pearson", "Between.")
        ],
        "validated": Validated(
            "Validated on seeded incidents.",
            [ErrorRate("all logs", 2, 40, share, share, share, "2 of 2 (15.8 to 100.0 %)", 0)],
        ),
        "reviews": [
            Review(
                2,
                "cmpl-1",
                None,
                "foreign",
                "replayed",
                "lead",
                at,
                "M-7",
                1,
                "probable",
                "confirmed",
            )
        ],
    }


def isolation(name: str) -> dict[str, list]:
    """Everything on isolation, about one node or pool."""
    return {
        "properties": [
            Property("admission", "refused before it allocates", "fail", "88 had pages reserved"),
            Property("ownership", "bound to a tenant", "not observable", "no identity is logged"),
        ],
        "validations": [
            Validation(name, at(3), "pool_tokens", at(4), at(5), "cleared", "both"),
            Validation(name, at(9), "tp_size", None, None, "not cleared", "no gate is recorded"),
        ],
        "pools": [
            PoolAudit(name, name, 4, "stated", "shown", "assumed", "no", 2, name),
            PoolAudit("decode KV pool", None, None, "logs", "no", "no", "no", 3, "logs"),
        ],
        "limit_costs": [LimitCost(681_274, 8, 223, 50, 3, 11)],
        "pool_costs": [PoolCost("prefill", 8, 5_450_240, 1_310_720, 4, 4, "4 prompts fewer")],
    }
