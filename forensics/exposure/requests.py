"""Requests by day, length, tier and reason, and the tenants behind them."""

from __future__ import annotations

from msgspec import Struct

from forensics.exposure.times import Time


class Step(Struct, frozen=True):
    """One step of the funnel."""

    name: str
    requests: int
    meaning: str


class Point(Struct, frozen=True):
    """One request that was over the limit or is affected, for the picture."""

    at: Time | None
    prompt_tokens: int | None
    node: str | None
    tier: str


class Cell(Struct, frozen=True):
    """How many requests of a day have a prompt length in ``[low, 2 * low)`` tokens."""

    day: str
    low_tokens: int
    requests: int


class Day(Struct, frozen=True):
    """Requests of one UTC day."""

    day: str
    requests: int
    confirmed: int
    probable: int
    possible: int
    not_assessable: int


class Tenant(Struct, frozen=True):
    """One tenant in one population; a null id stands for requests without a tenant."""

    tenant_id: str | None
    population: str
    tier: str
    n_confirmed: int
    n_probable: int
    n_possible: int
    n_not_assessable: int
    requests: int
    responses: int
    pages: int | None
    first_at: Time | None
    last_at: Time | None
    same_tenant_only: bool


class Reason(Struct, frozen=True):
    """How many requests of a tier carry a reason code."""

    tier: str
    reason: str
    requests: int
    meaning: str


class Missing(Struct, frozen=True):
    """How many requests that could not be judged lack a value."""

    column: str
    requests: int
    meaning: str


class PrefillTime(Struct, frozen=True):
    """5th percentile of prefill time: one day, one prompt-length bucket ``[low, high)``."""

    day: str
    low_tokens: int
    high_tokens: int
    requests: int
    p5_ms: float
    long_context: bool
