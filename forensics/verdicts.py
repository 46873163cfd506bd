"""Findings to rung, tier, reasons and missing values: a pure function of a frame.

The order in which facts decide is :data:`ORDER` and nothing else. Facts that lose
stay as reasons.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from forensics import schema
from forensics.arrivals import EARLIEST, LONGEST
from forensics.clock import ZONE_UNCERTAINTY
from forensics.columns import ensure, pieces
from forensics.findings import FINDINGS, Finding
from forensics.findings.base import DELIVERED, RESERVED, SHORT, TRANSFERRED, prepared
from forensics.incident import Incident

_FLAG = {finding.code: f"is_{finding.code}" for finding in FINDINGS}


def flag(code: str) -> pl.Expr:
    """Return the column that says where a finding fired."""
    return pl.col(_FLAG[code])


def _any(weight: str, *besides: str) -> pl.Expr:
    codes = [f.code for f in FINDINGS if f.weight == weight and f.code not in besides]
    return pl.any_horizontal([flag(code) for code in codes])


DIRECT = _any("direct")
TRACED = _any("traced")
"""Direct evidence that names no request: joined by inference, so ``possible`` at the most."""
CAPPED = (
    flag("delivery_unknown")
    | flag("joined_by_inference")
    | flag("zone_assumed")
    | flag("clock_uncertain")
    | flag("arrival_unknown")
)
"""Direct evidence under one of these carries no more than ``possible``."""
OVER_AND_FAST = flag("over_limit") & flag("too_fast")
"""Prefill would have rejected the prompt, and did not compute it."""

NOT_BY_COUNTS = flag("handoff_failed") | flag("short_unless_cached")
"""Pages may not have arrived, whatever tokens both sides counted and however few they are."""

COMPLETE = (
    (_any("clears", "full_transfer") & ~NOT_BY_COUNTS)
    | (flag("full_transfer") & ~flag("short_tail"))
) & ~flag("slot_unread")
"""As many pages say nothing of the end of the last one, where prefill counted fewer tokens.

Nor do they of a slot of which it is not known whose it was, or was meant to be."""


BESIDE = flag("co_resident") & ~(OVER_AND_FAST & ~CAPPED & ~flag("not_disaggregated") & ~COMPLETE)
"""It ran where others wrote: no completeness of its own hand-off undoes that."""


BY_LENGTH = "below the limit"
"""Name of the rule that clears by the length of a prompt alone."""


@dataclass(frozen=True)
class Rule:
    """One line of the decision order: the first whose condition holds decides."""

    name: str
    tier: str
    condition: pl.Expr


ORDER: tuple[Rule, ...] = (
    Rule("out of scope", "ruled_out", flag("out_of_scope")),
    Rule("foreign content shown", "confirmed", _any("attested")),
    Rule("own content shown", "ruled_out", flag("attested_own")),
    Rule("wrote, delivered or not", "possible", flag("undelivered_write")),
    Rule("nothing delivered", "ruled_out", flag("not_delivered")),
    Rule("direct evidence, with a doubt", "possible", DIRECT & CAPPED),
    Rule("direct evidence", "probable", DIRECT),
    Rule("ran beside a write", "possible", BESIDE),
    Rule("no hand-off", "ruled_out", flag("not_disaggregated") & ~flag("beside_unjudged")),
    Rule(
        "complete hand-off",
        "ruled_out",
        COMPLETE & ~flag("joined_by_inference") & ~flag("beside_unjudged"),
    ),
    Rule("over the limit and too fast", "probable", OVER_AND_FAST & ~CAPPED),
    Rule("traces alone", "possible", TRACED),
    Rule("served after a failed hand-off", "possible", flag("failed_but_served")),
    Rule("short, or cached on decode", "possible", flag("short_unless_cached")),
    Rule("a page fewer", "possible", flag("short_page")),
    Rule("over the limit", "possible", flag("over_limit")),
    Rule("limit uncertain", "possible", flag("limit_uncertain")),
    Rule("within the slack", "possible", flag("near_limit")),
    Rule(BY_LENGTH, "ruled_out", flag("below_limit")),
    Rule("cannot be judged", "not_assessable", pl.lit(value=True)),
)

DECISIVE = (
    "completion_tokens",
    "decode_prompt_tokens",
    "http_status",
    "input_limit_tokens",
    "model",
    "prefill_prompt_tokens",
    "prompt_tokens",
    "received_at",
    "reserved_pages",
    "tenant_id",
    "transferred_pages",
)
"""Values whose absence is listed under ``missing``, sorted."""


def judge(requests: pl.DataFrame, incident: Incident, marked: pl.Series) -> pl.DataFrame:
    """Add findings, ``rung`` and ``tier`` to requests.

    Args:
        requests: with the limits attached.
        incident: scope, window, slack and mechanism.
        marked: keys of hand-offs whose answer held a foreign marker.

    Returns:
        The same rows, with one flag for each finding, ``noteworthy`` and ``stale_pages``.
    """
    comparable = _owners_are_tenants(requests)
    judged = [_judged(piece, incident, marked, comparable) for piece in pieces(requests)]
    return pl.concat(judged)


_ENOUGH_OWNERS = 20
"""So many owners, none of them the tenant, are names of another kind (players, sessions)."""


def _owners_are_tenants(requests: pl.DataFrame) -> bool:
    """Say whether slot owners and tenants are names of the same kind, so can be compared."""
    if not {"slot_owner", "tenant_id"} <= set(requests.columns):
        return False
    same = (requests["slot_owner"] == requests["tenant_id"]).drop_nulls()
    return bool(same.any()) or len(same) < _ENOUGH_OWNERS


def _judged(
    requests: pl.DataFrame, incident: Incident, marked: pl.Series, comparable: bool
) -> pl.DataFrame:
    known = (*schema.REQUEST_COLUMNS, *schema.ENGINE_COLUMNS)
    whole = ensure(requests, [column.name for column in known])
    rows = prepared(_scoped(whole, incident, marked), owners_are_tenants=comparable)
    rows = rows.with_columns(
        finding.expression.fill_null(value=False).alias(_FLAG[finding.code])
        for finding in _active(incident)
    )
    rows = rows.with_columns(
        pl.lit(value=False).alias(name) for name in _FLAG.values() if name not in rows.columns
    )
    rows = rows.with_columns(_doubted())
    rows = rows.with_columns(
        tier=_decided(),
        input_limit_tokens="limit_high",
        noteworthy=_NOTEWORTHY,
        stale_pages=(RESERVED - TRANSFERRED).clip(lower_bound=0),
    )
    rows = rows.with_columns(rung=_rung())
    added = ("tier", "rung", "input_limit_tokens", "noteworthy", "stale_pages")
    return rows.select(*requests.columns, *_FLAG.values(), *added)


def _doubted() -> list[pl.Expr]:
    """Figures of a gateway clear nobody where its format is unverified, or logs have a hole.

    A record that may be of an engine's request which cannot be judged is not cleared by its length.
    Where the gateway's record was lost, an engine that sent nothing does not say who else did.
    """
    doubt, stopped = flag("unverified_format"), flag("not_delivered")
    unsure = doubt | pl.col("in_a_gateway_hole")
    open_ = doubt | flag("fits_unjudged")
    kept = {
        "below_limit": flag("below_limit") & ~open_ & ~flag("log_gap") & ~NOT_BY_COUNTS,
        "not_delivered": stopped & ~unsure,
        "delivery_unknown": flag("delivery_unknown") | (stopped & unsure),
    }
    return [expression.alias(_FLAG[code]) for code, expression in kept.items()]


_SLOT = (*schema.GENERATIONS, "slot_owner", schema.OWNER_UNREAD)


def explained(rows: pl.DataFrame) -> pl.DataFrame:
    """Add ``reasons`` and ``missing`` to judged rows: sorted codes joined by ``;``."""
    whole = ensure(rows.rechunk(), [*(n for n in DECISIVE if n != "input_limit_tokens"), *_SLOT])
    return whole.with_columns(reasons=_reasons(), missing=_missing())


def _active(incident: Incident) -> list[Finding]:
    """Below the limit clears nobody unless the trigger only reads."""
    cleared = incident.trigger.mechanism == "read"
    return [f for f in FINDINGS if cleared or f.code != "below_limit"]


def _decided() -> pl.Expr:
    """The tier of the first rule of :data:`ORDER` whose condition holds."""
    decided = [pl.when(rule.condition).then(pl.lit(rule.tier)) for rule in ORDER]
    return pl.coalesce(decided)


def ruled_by(name: str) -> pl.Expr:
    """Return which judged rows the rule of a name of :data:`ORDER` decided."""
    at = next(number for number, rule in enumerate(ORDER) if rule.name == name)
    before = [rule.condition.fill_null(value=False) for rule in ORDER[:at]]
    return ORDER[at].condition & ~pl.any_horizontal(before)


def _rung() -> pl.Expr:
    """The highest rung of the ladder; null outside the scope.

    Whoever is told that a response may be affected is told whether it was delivered, too: what
    may have met the condition, or was shown to, stands on the same rung.
    """
    triggered = DIRECT | TRACED | (flag("over_limit") & ~flag("not_disaggregated"))
    triggered = triggered | flag("co_resident") | pl.col("tier").is_in(schema.AFFECTED_TIERS)
    delivered = DELIVERED.fill_null(value=False)
    return (
        pl.when(flag("out_of_scope"))
        .then(pl.lit(None, dtype=pl.String))
        .when(triggered & delivered)
        .then(pl.lit("delivered"))
        .when(triggered)
        .then(pl.lit("triggered"))
        .otherwise(pl.lit("eligible"))
    )


def _scoped(requests: pl.DataFrame, incident: Incident, marked: pl.Series) -> pl.DataFrame:
    models = incident.scope.models
    outside_models = (
        (pl.col("model").is_not_null() & ~pl.col("model").is_in(models) & ~pl.col("models_differ"))
        if models
        else pl.lit(value=False)
    )
    others = pl.min_horizontal("reserved_at", "released_at", "finished_at")
    # A time of the end, or within the request, says no more than that it came before.
    late = pl.col("received_at").is_null() | pl.col(schema.TIMED_LATE).fill_null(value=False)
    at = pl.when(late).then(pl.min_horizontal("received_at", others)).otherwise("received_at")
    late = late & ~(at == pl.col("reserved_at")).fill_null(value=False)
    clock = pl.col("clock_margin") if "clock_margin" in requests.columns else pl.lit(0)
    doubted = pl.col("unverified").fill_null(value=False)
    margin = pl.when(pl.col("assumed") | doubted).then(ZONE_UNCERTAINTY).otherwise(clock)
    outside = near = unknown = pl.lit(value=False)
    if incident.window_us is not None:
        start, end = incident.window_us
        first = pl.min_horizontal(at, EARLIEST) if EARLIEST in requests.columns else at
        long_after = at >= end + margin + LONGEST
        after = pl.when(late).then(long_after).otherwise(first >= end + margin)
        outside = ((at < start - margin) | after).fill_null(value=False)
        unknown = (late & (at >= end - margin) & ~long_after).fill_null(value=False)
        edge = pl.min_horizontal((at - start).abs(), (at - end).abs())
        near = ((margin > 0) & (edge <= margin)).fill_null(value=False)
    return requests.with_columns(
        outside_models=outside_models & ~doubted,
        outside_window=outside,
        arrival_unknown=unknown,
        near_window_edge=near & pl.col("assumed"),
        near_clock_edge=near & ~pl.col("assumed"),
        received_at=at,
        slack_tokens=pl.lit(incident.trigger.slack_tokens, dtype=pl.Int64),
        marker_seen=pl.col("handoff").is_in(marked.implode()),
    )


def _reasons() -> pl.Expr:
    codes = sorted(_FLAG)
    return pl.concat_str(
        [pl.when(flag(code)).then(pl.lit(code)) for code in codes],
        separator=";",
        ignore_nulls=True,
    )


def _missing() -> pl.Expr:
    absent = {name: pl.col(name).is_null() for name in DECISIVE}
    absent |= {name: pl.col(name).is_null() & flag("slot_unread") for name in schema.GENERATIONS}
    absent["slot_owner"] = pl.col("slot_owner").is_null() & pl.col(schema.OWNER_UNREAD)
    return pl.concat_str(
        [pl.when(missing).then(pl.lit(name)) for name, missing in sorted(absent.items())],
        separator=";",
        ignore_nulls=True,
    )


_TELLING = (
    *("http_status", "reserved_pages", "transferred_pages"),
    *("prefill_prompt_tokens", "decode_prompt_tokens"),
)
"""What hops differ about where one of them may be right that the request was not whole."""
_NOTEWORTHY = (
    DIRECT
    | flag("attested_own")
    | TRACED
    | flag("co_resident")
    | flag("late_release")
    | flag("too_fast")
    | flag("metadata_collision")
    | flag("over_limit")
    | flag("limit_uncertain")
    | flag("near_limit")
    | pl.col("rejected").fill_null(value=False)
    | pl.col("rejection_code").is_not_null()
    | pl.col("transfer_status").is_in(["failed", "aborted"]).fill_null(value=False)
    | (pl.col("prefill_prompt_tokens") != pl.col("decode_prompt_tokens")).fill_null(value=False)
    | SHORT.fill_null(value=False)
    | flag("transfer_mismatch")
    | flag("count_mismatch")
    | pl.col("disagreement").is_in(_TELLING)
)
"""Ruled-out rows that are listed: over, rejected, short, mismatched or named in a signal."""

NOTEWORTHY = pl.col("noteworthy")


def in_scope(requests: pl.DataFrame, *wanted: str | pl.Expr) -> pl.DataFrame:
    """Return some columns of the requests in scope: most are, and all of theirs would be copied."""
    every = (pl.col(one) if isinstance(one, str) else one for one in wanted)
    return requests.select(one.filter(~flag("out_of_scope")) for one in every)


def listed(requests: pl.DataFrame) -> pl.DataFrame:
    """Return the rows that the request tables list."""
    return requests.filter((pl.col("tier") != "ruled_out") | NOTEWORTHY)
