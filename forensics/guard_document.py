"""The guard before the document: every text of it, by the struct and field that it stands in.

A field typed as ``Literal`` may hold what its type says. Any other text field has a rule
in :data:`RULES`; one without is held to be a sentence of the program's own, and a test
asks for its rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

import polars as pl
from msgspec import Struct

from forensics import fields, schema
from forensics.attribution.reasons import REASONS, UNCHECKED
from forensics.declared import COMPARED, REASON_CODES, SEEN_HOPS
from forensics.errors import PrivacyError
from forensics.exposure import Exposure
from forensics.fields import Rule
from forensics.guard import misfits_by
from forensics.schema import CONFIG_KEYS, MECHANISMS, POPULATIONS, RUNGS, TIERS

_PROBES = "probe or warm-up"
_tier, _population = fields.one_of(TIERS), fields.one_of(POPULATIONS)
_ALLOCATORS = schema.by_name(schema.CAPACITY_COLUMNS)["allocator"].codes
_code = fields.matching("[a-z][a-z0-9_]{0,47}")


def _stated(text: pl.Expr) -> pl.Expr:
    """What the incident file or this package says about itself, not a log."""
    return text.str.len_chars() < 2**16


def _ignored(text: pl.Expr) -> pl.Expr:
    return fields.phrase(text) | (text == _PROBES)


_CLOCK = (
    *("rule", "jurisdiction", "role", "duty", "trigger", "duration", "calendar", "source"),
    *("as_of", "reason", "note"),
)
"""What the file of rules and the incident file say of a clock."""

RULES: dict[tuple[str, str], Rule] = {
    ("Tool", "name"): _stated,
    ("Tool", "version"): _stated,
    ("Case", "id"): _stated,
    ("Case", "title"): _stated,
    ("Case", "supersedes"): _stated,
    ("Case", "parameters_sha256"): fields.matching("(?:[0-9a-f]{64})?"),
    ("Case", "as_of"): fields.DAY,
    ("Scope", "models"): _stated,
    ("Scope", "window_start"): fields.STAMP,
    ("Scope", "window_end"): fields.STAMP,
    ("Scope", "mechanism"): fields.one_of(MECHANISMS),
    ("Moment", "name"): fields.sentence,
    ("Moment", "at"): fields.STAMP,
    ("TierCount", "tier"): _tier,
    ("TierCount", "meaning"): fields.sentence,
    ("Bound", "method"): fields.sentence,
    ("Bound", "sentence"): fields.sentence,
    ("StatisticalBound", "method"): fields.sentence,
    ("StatisticalBound", "assumption"): fields.sentence,
    ("StatisticalBound", "sentence"): fields.sentence,
    ("Rate", "name"): fields.sentence,
    ("Rate", "at"): fields.STAMP,
    ("Ongoing", "sentence"): fields.sentence,
    ("Ongoing", "last_affected_at"): fields.STAMP,
    ("Ongoing", "last_record_at"): fields.STAMP,
    ("Headline", "sentence"): fields.sentence,
    ("Headline", "direction"): fields.sentence,
    ("Headline", "first_affected_at"): fields.STAMP,
    ("Headline", "last_affected_at"): fields.STAMP,
    ("Headline", "incomplete"): fields.sentence,
    ("Step", "name"): fields.one_of(("all", *RUNGS)),
    ("Step", "meaning"): fields.sentence,
    ("Epoch", "node"): fields.identifier,
    ("Epoch", "role"): fields.one_of(("prefill", "decode", "unified")),
    ("Epoch", "effective_at"): fields.STAMP,
    ("Epoch", "until"): fields.STAMP,
    ("Epoch", "limit_basis"): fields.sentence,
    ("Epoch", "config"): fields.settings,
    ("Epoch", "engine"): fields.identifier,
    ("Epoch", "engine_version"): fields.identifier,
    ("Change", "node"): fields.identifier,
    ("Change", "at"): lambda text: fields.STAMP(text) | (text == ""),
    ("Change", "setting"): fields.one_of((*COMPARED, *CONFIG_KEYS)),
    ("Change", "before"): fields.identifier,
    ("Change", "after"): fields.identifier,
    ("Point", "at"): fields.STAMP,
    ("Point", "node"): fields.identifier,
    ("Point", "tier"): _tier,
    ("Cell", "day"): fields.DAY,
    ("Day", "day"): fields.DAY,
    ("Rejections", "day"): fields.DAY,
    ("Rejections", "node"): fields.identifier,
    ("Rejections", "code"): fields.one_of(schema.REJECTION_CODES),
    ("Tenant", "tenant_id"): fields.named,
    ("Tenant", "population"): _population,
    ("Tenant", "tier"): _tier,
    ("Tenant", "first_at"): fields.STAMP,
    ("Tenant", "last_at"): fields.STAMP,
    ("Reason", "tier"): _tier,
    ("Reason", "reason"): fields.one_of(REASON_CODES),
    ("Reason", "meaning"): fields.sentence,
    ("Missing", "column"): fields.one_of(fields.COLUMN_NAMES),
    ("Missing", "meaning"): fields.sentence,
    ("PrefillTime", "day"): fields.DAY,
    ("TimingCluster", "first_at"): fields.STAMP,
    ("TimingCluster", "last_at"): fields.STAMP,
    ("TimingCluster", "nodes"): fields.identifier,
    ("TimingCluster", "reason"): fields.sentence,
    ("TimingAlarm", "day"): fields.DAY,
    ("Exposure", "early_warnings_clean"): fields.sentence,
    ("EarlyWarning", "first_at"): fields.STAMP,
    ("EarlyWarning", "sentence"): fields.sentence,
    ("Check", "requirement"): fields.sentence,
    ("Check", "evidence"): fields.sentence,
    ("NodeCoverage", "node"): fields.identifier,
    ("NodeCoverage", "hop"): fields.one_of(SEEN_HOPS),
    ("NodeCoverage", "first_at"): fields.STAMP,
    ("NodeCoverage", "last_at"): fields.STAMP,
    ("ShareBound", "method"): fields.sentence,
    ("ShareBound", "sentence"): fields.sentence,
    ("ErrorRate", "situation"): fields.sentence,
    ("ErrorRate", "precision"): fields.sentence,
    ("ErrorRate", "recall"): fields.sentence,
    ("ErrorRate", "sure"): fields.sentence,
    ("ErrorRate", "covered"): fields.sentence,
    ("Validated", "sentence"): fields.sentence,
    ("Neighbour", "choice"): fields.sentence,
    ("Hole", "hour"): fields.STAMP,
    ("Review", "request_id"): fields.identifier,
    ("Review", "tenant_id"): fields.named,
    ("Review", "reviewer_role"): fields.matching("[a-z][a-z0-9_-]{0,31}"),
    ("Review", "reviewed_at"): fields.STAMP,
    ("Review", "method"): fields.identifier,
    ("Counted", "node"): fields.identifier,
    ("Counted", "first_at"): fields.STAMP,
    ("Counted", "last_at"): fields.STAMP,
    ("Cliff", "node"): fields.identifier,
    ("Cliff", "hop"): fields.one_of(SEEN_HOPS),
    ("Cliff", "at"): fields.STAMP,
    ("HeatCell", "node"): fields.identifier,
    ("HeatCell", "hop"): fields.one_of(SEEN_HOPS),
    ("HeatCell", "at"): fields.STAMP,
    ("ClockPair", "first"): fields.identifier,
    ("ClockPair", "second"): fields.identifier,
    ("FormatCount", "format"): fields.matching("[a-z][a-z0-9 +:-]{0,95}"),
    ("FormatCount", "ignored"): _ignored,
    ("FormatCount", "unreadable"): fields.phrase,
    ("FormatCount", "bad_values"): fields.column,
    ("Property", "requirement"): fields.sentence,
    ("Property", "evidence"): fields.sentence,
    ("Validation", "node"): fields.identifier,
    ("Validation", "changed_at"): lambda text: fields.STAMP(text) | (text == ""),
    ("Validation", "changed"): fields.sentence,
    ("Validation", "gate_at"): fields.STAMP,
    ("Validation", "canary_at"): fields.STAMP,
    ("Validation", "reason"): fields.sentence,
    ("PoolAudit", "pool"): _stated,
    ("PoolAudit", "owner"): _stated,
    ("PoolAudit", "evidence"): _stated,
    ("PoolCost", "role"): fields.one_of(("prefill", "decode", "unified", "unknown")),
    ("PoolCost", "sentence"): fields.sentence,
    ("Trigger", "tenant_id"): fields.named,
    ("Trigger", "first_at"): fields.STAMP,
    ("Trigger", "last_at"): fields.STAMP,
    ("Trigger", "patterns"): fields.one_of(("near_limit", "same_length", "most_in_hour")),
    ("TriggerDay", "day"): fields.DAY,
    ("TriggerDay", "tenant_id"): fields.named,
    ("Deliberate", "sentence"): fields.sentence,
    ("Deliberate", "searched"): fields.sentence,
    ("Deliberate", "blind"): fields.sentence,
    **{("Clock", name): _stated for name in _CLOCK},
    ("Clock", "started_at"): fields.STAMP,
    ("Clock", "due_at"): fields.STAMP,
    ("Clock", "done_at"): fields.STAMP,
    ("Clocks", "rules_sha256"): fields.matching("(?:[0-9a-f]{64})?"),
    ("Clocks", "rules_as_of"): fields.matching(r"(?:\d{4}-\d\d-\d\d)?"),
    ("Clocks", "warnings"): fields.sentence,
    ("Compared", "name"): fields.sentence,
    ("Compared", "published"): _stated,
    ("Compared", "found"): fields.sentence,
    ("Compared", "note"): fields.sentence,
    ("Containment", "step"): fields.sentence,
    ("Containment", "at"): fields.STAMP,
    ("Containment", "evidence"): fields.sentence,
    ("Attribution", "sentence"): fields.sentence,
    ("SourceRank", "node"): fields.identifier,
    ("SourceRank", "since"): fields.STAMP,
    ("SourceRank", "allocator"): fields.one_of(_ALLOCATORS),
    ("SourceRank", "reasons"): fields.one_of([*REASONS.values(), *UNCHECKED.values()]),
    ("PageOwner", "tenant_id"): fields.named,
    ("OwnedPages", "request_id"): fields.identifier,
    ("OwnedPages", "decode_node"): fields.identifier,
    ("Spread", "sentence"): fields.sentence,
    ("Limitation", "code"): _code,
    ("Limitation", "sentence"): fields.sentence,
}


def checked_document(document: Exposure) -> Exposure:
    """Return the document where every text of it may leave.

    Raises:
        PrivacyError: one may not; names the field and the count, never a value.
    """
    found: dict[tuple[str, str], set[str]] = {}
    for where, text in _texts(document):
        found.setdefault(where, set()).add(text)
    rules = {where: _literal(*where) or RULES.get(where, fields.sentence) for where in found}
    wrong = misfits_by({where: (texts, rules[where]) for where, texts in found.items()})
    for where, count in wrong.items():
        raise PrivacyError(
            f"report.json: {count} value(s) of {'.'.join(where)} are none that it may hold"
        )
    return document


def _texts(value: Any, where: tuple[str, str] = ("Exposure", "")) -> Iterator[tuple[Any, str]]:
    """Yield each text below a value with the struct and field that it stands in."""
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, Struct):
        kind = type(value).__name__
        for name in value.__struct_fields__:
            yield from _texts(getattr(value, name), (kind, name))
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _texts(key, where)
            yield from _texts(inner, where)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner, where)


@cache
def _literal(struct: str, field: str) -> Rule | None:
    """Return the rule of a field that is typed as ``Literal``, or None."""
    for values in _literals(text_fields().get((struct, field))):
        return fields.one_of(values)
    return None


def _literals(kind: Any) -> Iterator[tuple[str, ...]]:
    if get_origin(kind) is Literal:
        yield get_args(kind)
    for inner in get_args(kind) if get_origin(kind) is not Literal else ():
        yield from _literals(inner)


@cache
def text_fields() -> dict[tuple[str, str], Any]:
    """Return the type of each field of the document that can hold text, by struct and field."""
    found: dict[tuple[str, str], Any] = {}
    todo: list[Any] = [Exposure]
    while todo:
        struct = todo.pop()
        for name, kind in get_type_hints(struct).items():
            inner = list(_structs(kind))
            todo += [s for s in inner if not any(key[0] == s.__name__ for key in found)]
            if not inner and _holds_text(kind):
                found[struct.__name__, name] = kind
    return found


def _structs(kind: Any) -> Iterator[type[Struct]]:
    if isinstance(kind, type) and issubclass(kind, Struct):
        yield kind
    for inner in get_args(kind):
        yield from _structs(inner)


def _holds_text(kind: Any) -> bool:
    if kind is str or get_origin(kind) is Literal:
        return True
    return any(_holds_text(inner) for inner in get_args(kind))
