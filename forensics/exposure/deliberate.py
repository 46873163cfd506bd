"""The test for deliberate use: how often and how evenly each tenant met the condition."""

from __future__ import annotations

from msgspec import Struct


class Trigger(Struct, frozen=True):
    """Requests of one tenant at or over the limit, and what would look deliberate.

    ``same_length`` is how many of them share the most frequent prompt length of the tenant;
    ``near_limit`` how many of the tenant's prompts lie within one percent of the limit in
    force, on either side; ``most_in_hour`` how many fell in its worst hour.
    """

    tenant_id: str | None
    over_limit: int
    requests: int
    days: int
    most_in_hour: int
    same_length: int
    near_limit: int
    first_at: str | None
    last_at: str | None
    patterns: list[str]


class TriggerDay(Struct, frozen=True):
    """Requests of one tenant at or over the limit on one UTC day."""

    day: str
    tenant_id: str | None
    over_limit: int


class Deliberate(Struct, frozen=True):
    """The outcome, what was looked for, and what could not have been seen."""

    sentence: str = ""
    searched: list[str] = []
    blind: list[str] = []
    tenants: list[Trigger] = []
    days: list[TriggerDay] = []
