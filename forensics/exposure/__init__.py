"""The exposure: one frozen document that every rendering is made from.

It is what ``report.json`` holds, byte for byte. Everything that a reader sees in
HTML, in a table header or in a notebook card comes from here; a renderer never
computes. Counts are integers, times are RFC 3339 in UTC, and nothing in it
depends on how the records were spread over files.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Literal

import msgspec
from msgspec import Struct

from forensics.exposure.attested import Review
from forensics.exposure.bounds import ErrorRate, ShareBound, Validated
from forensics.exposure.clocks import Clock, Clocks, Compared, Containment
from forensics.exposure.coverage import Cliff, Counted, Heat, HeatCell, Hole, HopReach
from forensics.exposure.deliberate import Deliberate, Trigger, TriggerDay
from forensics.exposure.isolation import LimitCost, PoolAudit, PoolCost, Property, Validation
from forensics.exposure.sensitivity import Neighbour
from forensics.exposure.sources import (
    Attribution,
    LookBack,
    OwnedPages,
    PageOwner,
    SourceRank,
    Spread,
)
from forensics.exposure.timing import (
    EarlyWarning,
    TimingAlarm,
    TimingBand,
    TimingCell,
    TimingCluster,
)

__all__ = [
    "Attribution",
    "Cliff",
    "Clock",
    "Clocks",
    "Compared",
    "Containment",
    "Counted",
    "Deliberate",
    "EarlyWarning",
    "ErrorRate",
    "Heat",
    "HeatCell",
    "Hole",
    "HopReach",
    "LimitCost",
    "LookBack",
    "Neighbour",
    "OwnedPages",
    "PageOwner",
    "PoolAudit",
    "PoolCost",
    "Property",
    "Review",
    "ShareBound",
    "SourceRank",
    "Spread",
    "TimingAlarm",
    "TimingBand",
    "TimingCell",
    "TimingCluster",
    "Trigger",
    "TriggerDay",
    "Validated",
    "Validation",
]

SCHEMA_VERSION = 1
OPEN_END = 2**62
"""Magnitude in microseconds that stands for an open end of time."""

Time = str
"""RFC 3339 in UTC with microseconds: ``2026-08-27T00:00:00.000000Z``."""


class Tool(Struct, frozen=True):
    """What made the document."""

    name: str
    version: str


class Case(Struct, frozen=True):
    """Name of the case, its revision, and a hash of everything that was asked."""

    id: str
    title: str
    revision: int = 1
    supersedes: str = ""
    """Why this revision takes the place of the one before, as stated."""
    parameters_sha256: str = ""
    as_of: str | None = None
    """Day on which this revision is made, as stated."""


class Scope(Struct, frozen=True):
    """What was asked; None means that nothing was stated."""

    models: list[str]
    window_start: Time | None
    window_end: Time | None
    mechanism: str
    threshold_tokens: int | None
    slack_tokens: int
    sampling_rate: float


class Moment(Struct, frozen=True):
    """One dated event of the incident, as stated in the incident file or found in the logs."""

    name: str
    at: Time
    basis: Literal["stated", "found"]


class TierCount(Struct, frozen=True):
    """Requests of one tier, and how many of them were delivered for certain."""

    tier: str
    requests: int
    delivered: int
    meaning: str


class Bound(Struct, frozen=True):
    """How many affected responses there can be, and what is assumed for it."""

    low: int
    high: int
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


class Step(Struct, frozen=True):
    """One step of the funnel."""

    name: str
    requests: int
    meaning: str


class Epoch(Struct, frozen=True):
    """One stretch of time in which an engine's pool and settings stood."""

    node: str
    role: str | None
    effective_at: Time | None
    until: Time | None
    pool_tokens: int | None
    page_tokens: int | None
    context_tokens: int | None
    input_limit_tokens: int | None
    limit_basis: str
    gap_tokens: int | None
    """``context - pool``: positive where the window is larger than the pool."""
    inferred: bool
    config: str | None
    engine: str | None
    engine_version: str | None


class Change(Struct, frozen=True):
    """A setting that changed between two epochs of a node."""

    node: str
    at: Time
    setting: str
    before: str | None
    after: str | None


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


class Rejections(Struct, frozen=True):
    """Rejections of one day and node: stopped there, or served all the same."""

    day: str
    node: str | None
    code: str
    stopped: int
    served: int
    unknown: int


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


class Check(Struct, frozen=True):
    """One item of the isolation checklist."""

    item: int
    requirement: str
    result: Literal["pass", "fail", "not observable"]
    evidence: str


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


class Limitation(Struct, frozen=True):
    """Something that this report cannot show; never an empty list."""

    code: str
    sentence: str


class Exposure(Struct, frozen=True):
    """The whole document."""

    tool: Tool
    case: Case
    scope: Scope
    timeline: list[Moment]
    headline: Headline
    funnel: list[Step]
    epochs: list[Epoch]
    changes: list[Change]
    points: list[Point]
    lengths: list[Cell]
    days: list[Day]
    rejections: list[Rejections]
    recipients: list[Tenant]
    sources: list[Tenant]
    reasons: list[Reason]
    missing: list[Missing]
    prefill_times: list[PrefillTime]
    checklist: list[Check]
    coverage: list[NodeCoverage]
    read: list[FormatCount]
    limitations: list[Limitation]
    clock_pairs: list[ClockPair] = []
    timing_clusters: list[TimingCluster] = []
    timing_band: list[TimingBand] = []
    timing_cells: list[TimingCell] = []
    timing_alarms: list[TimingAlarm] = []
    early_warnings: list[EarlyWarning] = []
    early_warnings_clean: str = ""
    properties: list[Property] = []
    validations: list[Validation] = []
    pools: list[PoolAudit] = []
    limit_costs: list[LimitCost] = []
    pool_costs: list[PoolCost] = []
    deliberate: Deliberate = Deliberate()
    clocks: Clocks = Clocks()
    published: list[Compared] = []
    containment: list[Containment] = []
    attribution: Attribution = Attribution()
    reach: list[HopReach] = []
    holes: list[Hole] = []
    cliffs: list[Cliff] = []
    counters: list[Counted] = []
    heat: Heat = Heat()
    sensitivity: list[Neighbour] = []
    share_bounds: list[ShareBound] = []
    validated: Validated = Validated()
    reviews: list[Review] = []
    schema_version: int = SCHEMA_VERSION


def stamp(value: int | None) -> str | None:
    """Return microseconds of UTC as RFC 3339, or None for none and for open ends."""
    if value is None or abs(value) >= OPEN_END:
        return None
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=value)
    return moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def encode(exposure: Exposure) -> bytes:
    """Return the document as JSON, keys sorted, two blanks of indent, one line end.

    Raises:
        PrivacyError: a text in it is none that its field may hold.
    """
    from forensics.guard_document import checked_document  # the guard knows the document

    return as_json(checked_document(exposure))


def as_json(exposure: Exposure) -> bytes:
    """Return the same bytes without asking the guard: for a hash, never to be written."""
    data = msgspec.json.encode(exposure, order="sorted")
    return msgspec.json.format(data, indent=2) + b"\n"


@cache
def json_schema() -> bytes:
    """Return the JSON Schema (2020-12) of the document."""
    found = msgspec.json.schema(Exposure)
    for form in found["$defs"].values():
        if "properties" in form:  # what stands in a document beside its fields is none of it
            form["additionalProperties"] = False
    found["$defs"]["Exposure"]["properties"]["limitations"]["minItems"] = 1
    found = {"$schema": "https://json-schema.org/draft/2020-12/schema", **found}
    return msgspec.json.format(msgspec.json.encode(found, order="sorted"), indent=2) + b"\n"


def decode(data: bytes) -> Exposure:
    """Return the document that :func:`encode` wrote."""
    return msgspec.json.decode(data, type=Exposure)
