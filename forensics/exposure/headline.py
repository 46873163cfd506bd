"""The first screen: the finding, how sure, whether it goes on, and the bounds."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from forensics.exposure.times import Time


class TierCount(Struct, frozen=True):
    """Requests of one tier, and how many of them were delivered for certain."""

    tier: str
    requests: int
    delivered: int
    meaning: str


class Bound(Struct, frozen=True):
    """How many affected responses there can be, and what is assumed for it.

    ``high`` is null where what was not read may hold any number of them; ``sentence`` says why.
    """

    low: int
    high: int | None
    method: str
    sentence: str


class StatisticalBound(Struct, frozen=True):
    """How many there can be beyond the logs, at which level, and what that assumes."""

    low: int
    high: int
    point: int
    level: float
    sided: Literal["one-sided", "two-sided"]
    method: str
    assumption: str
    sentence: str


class Rate(Struct, frozen=True):
    """How many of how many are confirmed or probable; ``at`` where it is of one hour."""

    name: str
    affected: int
    total: int
    at: Time | None = None


class Ongoing(Struct, frozen=True):
    """Is it still happening: the answer, in a sentence, and what it rests on.

    ``answer`` is ``no`` only where later logs cover over-limit prompts that were
    served rightly or refused; ``cannot tell`` otherwise.
    """

    answer: Literal["yes", "no", "cannot tell"]
    sentence: str
    last_affected_at: Time | None
    last_record_at: Time | None
    requests_since: int
    over_limit_since: int
    hours_since: int
    hours_with_records_since: int


class Headline(Struct, frozen=True):
    """The first screen."""

    sentence: str
    direction: str
    tiers: list[TierCount]
    recipients: int
    recipients_unknown_tenant: int
    sources: int
    first_affected_at: Time | None
    last_affected_at: Time | None
    ongoing: Ongoing
    bound: Bound
    incomplete: list[str]
    further_bounds: list[StatisticalBound] = []
    rates: list[Rate] = []
