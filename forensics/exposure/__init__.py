"""The exposure: one frozen document that every rendering is made from.

It is what ``report.json`` holds, byte for byte. Everything that a reader sees in
HTML, in a table header or in a notebook card comes from here; a renderer never
computes. Counts are integers, times are RFC 3339 in UTC, and nothing in it
depends on how the records were spread over files.
"""

from __future__ import annotations

from functools import cache

import msgspec
from msgspec import Struct

from forensics.exposure.attested import Review
from forensics.exposure.bounds import ErrorRate, ShareBound, Validated
from forensics.exposure.case import Case, Moment, Scope, Tool
from forensics.exposure.clocks import Clock, Clocks, Compared, Containment
from forensics.exposure.coverage import Cliff, Counted, Heat, HeatCell, Hole, HopReach
from forensics.exposure.deliberate import Deliberate, Trigger, TriggerDay
from forensics.exposure.engines import Change, Epoch, Rejections
from forensics.exposure.headline import Bound, Headline, Ongoing, Rate, StatisticalBound, TierCount
from forensics.exposure.isolation import Check, LimitCost, PoolAudit, PoolCost, Property, Validation
from forensics.exposure.logs import ClockPair, FormatCount, NodeCoverage
from forensics.exposure.requests import Cell, Day, Missing, Point, PrefillTime, Reason, Step, Tenant
from forensics.exposure.sensitivity import Neighbour
from forensics.exposure.sources import (
    Attribution,
    LookBack,
    OwnedPages,
    PageOwner,
    SourceRank,
    Spread,
)
from forensics.exposure.times import OPEN_END, Time, stamp
from forensics.exposure.timing import (
    EarlyWarning,
    TimingAlarm,
    TimingBand,
    TimingCell,
    TimingCluster,
)

__all__ = [
    "OPEN_END",
    "SCHEMA_VERSION",
    "Attribution",
    "Bound",
    "Case",
    "Cell",
    "Change",
    "Check",
    "Cliff",
    "Clock",
    "ClockPair",
    "Clocks",
    "Compared",
    "Containment",
    "Counted",
    "Day",
    "Deliberate",
    "EarlyWarning",
    "Epoch",
    "ErrorRate",
    "Exposure",
    "FormatCount",
    "Headline",
    "Heat",
    "HeatCell",
    "Hole",
    "HopReach",
    "LimitCost",
    "Limitation",
    "LookBack",
    "Missing",
    "Moment",
    "Neighbour",
    "NodeCoverage",
    "Ongoing",
    "OwnedPages",
    "PageOwner",
    "Point",
    "PoolAudit",
    "PoolCost",
    "PrefillTime",
    "Property",
    "Rate",
    "Reason",
    "Rejections",
    "Review",
    "Scope",
    "ShareBound",
    "SourceRank",
    "Spread",
    "StatisticalBound",
    "Step",
    "Tenant",
    "TierCount",
    "Time",
    "TimingAlarm",
    "TimingBand",
    "TimingCell",
    "TimingCluster",
    "Tool",
    "Trigger",
    "TriggerDay",
    "Validated",
    "Validation",
    "as_json",
    "decode",
    "encode",
    "json_schema",
    "stamp",
]

SCHEMA_VERSION = 1


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
