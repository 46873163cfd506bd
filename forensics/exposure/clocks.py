"""Clocks in the document: dated rules, which of them a person said apply, and when they end."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class Clock(Struct, frozen=True):
    """One rule with its clock; ``due_at`` stands only where a person said that it applies."""

    rule: str
    jurisdiction: str
    role: str
    duty: str
    trigger: str
    duration: str
    calendar: str
    status: Literal["in force", "proposed", "unconfirmed", "stated"]
    source: str
    as_of: str
    applies: Literal["yes", "no", "assess"]
    reason: str | None
    started_at: str | None
    due_at: str | None
    done_at: str | None
    note: str


class Clocks(Struct, frozen=True):
    """All clocks, the file of rules by its hash, and what is to be known of its age."""

    rules_sha256: str = ""
    rules_as_of: str = ""
    warnings: list[str] = []
    clocks: list[Clock] = []


class Compared(Struct, frozen=True):
    """A published figure beside what these logs show."""

    name: str
    published: str
    found: str
    note: str


class Containment(Struct, frozen=True):
    """One step that ends or limits the fault, with what shows it."""

    step: str
    at: str | None
    basis: Literal["stated", "found"]
    evidence: str
