"""Who met the condition how often, and whether it looks like a search or a repetition."""

from __future__ import annotations

import polars as pl

from forensics import exposure as doc
from forensics.analysis import Analysis
from forensics.exposure import stamp
from forensics.timing import percentiles
from forensics.verdicts import in_scope
from forensics.wording import count

HOUR = 3_600_000_000
NEAR = 0.01
"""A prompt within this share of the limit, on either side, is near it."""
MANY_NEAR, MANY_ALIKE, MANY_IN_HOUR = 5, 3, 10
"""From so many on, prompts near the limit, of one length, or within an hour are a pattern."""

_PATTERNS = {
    "near_limit": (MANY_NEAR, "prompts close to the limit, on both sides of it"),
    "same_length": (MANY_ALIKE, "one prompt length again and again"),
    "most_in_hour": (MANY_IN_HOUR, "many within one hour"),
}
_SEARCHED = [
    f"{MANY_NEAR} or more prompts of a tenant within {NEAR:.0%} of the limit, on both sides of it",
    f"{MANY_ALIKE} or more requests of a tenant at or over the limit with one prompt length",
    f"{MANY_IN_HOUR} or more requests of a tenant at or over the limit, within one hour",
]
_BLIND = [
    "what the prompts and the answers held: no content was read",
    "whether anybody read, kept or used an answer",
    "several accounts of one person: each account is a tenant of its own here",
    "use before the first record and in hours without records",
]


def deliberate(analysis: Analysis) -> doc.Deliberate:
    """Return requests at or over the limit per tenant over time, and what looks deliberate."""
    asked = ("request_id", "tenant_id", "received_at", "rung", "prompt_tokens", "limit_low")
    rows = in_scope(analysis.requests, *asked)
    reached = pl.col("rung").is_in(["triggered", "delivered"])
    # A transfer that a link cut short was no client's doing: what it chose is the length.
    chosen = (pl.col("prompt_tokens") >= pl.col("limit_low")).fill_null(value=True)
    over = rows.filter((reached & chosen).fill_null(value=False))
    tenants = _tenants(rows, over)
    return doc.Deliberate(
        sentence=_sentence(tenants, over.height),
        searched=list(_SEARCHED),
        blind=list(_BLIND),
        tenants=tenants,
        days=_days(over),
    )


def _tenants(rows: pl.DataFrame, over: pl.DataFrame) -> list[doc.Trigger]:
    """Return one row per tenant with a request at or over the limit, the most first."""
    key = "tenant_id"
    counted = over.group_by(key).agg(
        over_limit=pl.len().cast(pl.Int64),
        days=(pl.col("received_at") // (24 * HOUR)).n_unique().cast(pl.Int64),
        first_at=pl.col("received_at").min(),
        last_at=pl.col("received_at").max(),
    )
    found = counted
    parts = (
        rows.group_by(key).agg(requests=pl.len().cast(pl.Int64)),
        _most(over.with_columns(by=pl.col("received_at") // HOUR), "most_in_hour"),
        _most(over.with_columns(by="prompt_tokens"), "same_length"),
        _near(rows),
    )
    for part in parts:
        found = found.join(part, on=key, how="left", nulls_equal=True)
    found = found.with_columns(
        pl.col("most_in_hour", "same_length", "near_limit", "below").fill_null(0)
    ).sort(["over_limit", key], descending=[True, False], nulls_last=True)
    return [_trigger(row) for row in found.iter_rows(named=True)]


def _most(rows: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return the size of each tenant's largest group; attempts of one request count once."""
    sizes = rows.drop_nulls("by").group_by("tenant_id", "by").agg(pl.col("request_id").n_unique())
    return sizes.group_by("tenant_id").agg(pl.col("request_id").max().cast(pl.Int64).alias(name))


def _near(rows: pl.DataFrame) -> pl.DataFrame:
    limit = pl.col("limit_low")
    close = rows.select("tenant_id", "prompt_tokens", "limit_low").filter(
        ((pl.col("prompt_tokens") - limit).abs() <= limit * NEAR).fill_null(value=False)
    )
    return close.group_by("tenant_id").agg(
        near_limit=pl.len().cast(pl.Int64),
        below=(pl.col("prompt_tokens") < limit).sum().cast(pl.Int64),
    )


def _trigger(row: dict[str, object]) -> doc.Trigger:
    counts = {name: int(str(row[name])) for name in _PATTERNS}
    both_sides = 0 < int(str(row["below"])) < counts["near_limit"]
    # Requests of which no tenant is known may be of many: together they are no pattern.
    patterns = [
        name
        for name, (many, _) in _PATTERNS.items()
        if row["tenant_id"] is not None
        and counts[name] >= many
        and (name != "near_limit" or both_sides)
    ]
    return doc.Trigger(
        tenant_id=row["tenant_id"],  # type: ignore[arg-type]
        over_limit=row["over_limit"],  # type: ignore[arg-type]
        requests=row["requests"],  # type: ignore[arg-type]
        days=row["days"],  # type: ignore[arg-type]
        first_at=stamp(row["first_at"]),  # type: ignore[arg-type]
        last_at=stamp(row["last_at"]),  # type: ignore[arg-type]
        patterns=patterns,
        **counts,
    )


def _sentence(tenants: list[doc.Trigger], over: int) -> str:
    if not over:
        return "No request is at or over the limit, so there is no pattern to look for."
    found = [
        f"{sum(name in t.patterns for t in tenants):,} with {words}"
        for name, (_, words) in _PATTERNS.items()
        if any(name in t.patterns for t in tenants)
    ]
    among = f"{count(over, 'request')} at or over the limit{_whose(tenants)}"
    if not found:
        return (
            f"No pattern was found in number, time and length of {among}; these could not show "
            "what was meant by a request or done with an answer."
        )
    return (
        f"Among {among} there are tenants with a pattern: {', '.join(found)}. A pattern is "
        "no intent: a retry or a batch job looks the same."
    )


def _whose(tenants: list[doc.Trigger]) -> str:
    """Say of how many tenants the requests are, and how many are of none known."""
    named = [t for t in tenants if t.tenant_id is not None]
    nameless = sum(t.over_limit for t in tenants if t.tenant_id is None)
    if not nameless:
        return f" of {count(len(named), 'tenant')}"
    if not named:
        return " of tenants that are not known"
    known = sum(t.over_limit for t in named)
    return f", {known:,} of {count(len(named), 'tenant')} and {nameless:,} of none that is known"


def _days(over: pl.DataFrame) -> list[doc.TriggerDay]:
    day = percentiles.day_of(pl.col("received_at"))
    dated = over.select("tenant_id", day=day).filter(pl.col("day").is_not_null())
    counted = dated.group_by("day", "tenant_id").len().sort("day", "tenant_id", nulls_last=True)
    return [
        doc.TriggerDay(day, tenant, n)
        for day, tenant, n in counted.select("day", "tenant_id", "len").iter_rows()
    ]
