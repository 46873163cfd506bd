"""Isolation in the document: properties, validations of changes, the pool audit, the cost."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Result = Literal["pass", "fail", "not observable"]
Answer = Literal["shown", "assumed", "no"]


class Check(Struct, frozen=True):
    """One item of the isolation checklist."""

    item: int
    requirement: str
    result: Literal["pass", "fail", "not observable"]
    evidence: str


class Property(Struct, frozen=True):
    """One property of an isolated hand-off, judged from the logs."""

    name: Literal[
        "admission", "ownership", "completion", "clean-up", "isolation tests", "observability"
    ]
    requirement: str
    result: Result
    evidence: str


class Validation(Struct, frozen=True):
    """What checked a changed epoch of an engine: a gate and a canary, each with its time.

    ``cleared`` only with both, neither of them failed, before the next change.
    """

    node: str
    changed_at: str
    changed: str
    """Names of the settings that changed, joined by commas."""
    gate_at: str | None
    canary_at: str | None
    result: Literal["cleared", "not cleared"]
    reason: str


class PoolAudit(Struct, frozen=True):
    """Three questions of one shared pool; an answer that is assumed is open, as a no is."""

    pool: str
    owner: str | None
    damage: int | None
    """1 to 5, as stated: what its contents would do in somebody else's answer."""
    basis: Literal["logs", "stated"]
    covers_largest: Answer
    rejects_first: Answer
    receiver_verifies: Answer
    open: int
    evidence: str


class LimitCost(Struct, frozen=True):
    """What an edge that refuses prompts from a limit on would have refused.

    ``answered_well`` of these were answered and ruled out: they would be lost.
    """

    limit_tokens: int
    nodes: int
    requests: int
    tenants: int
    tenants_unknown: int
    answered_well: int


class PoolCost(Struct, frozen=True):
    """What pools that cover the window cost, of the engines of a role that had one too small.

    The memory of all these pools is held constant, so that engines with the needed one are
    fewer. None of them holds a prompt of the full window before, each of them one after.
    """

    role: str
    nodes: int
    pool_tokens: int
    """Of all these engines together, when each was smallest."""
    needed_tokens: int
    """Of each node: 1.25 times its window."""
    nodes_after: int
    given_up: int
    sentence: str
