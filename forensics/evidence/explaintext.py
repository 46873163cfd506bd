"""Explanations as text: what decided first, then every value with its place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from forensics.evidence.explain import Explanation, Sources, Value
from forensics.evidence.explaintenant import TenantExplanation
from forensics.evidence.limit import Limit
from forensics.shown import shown
from forensics.wording import count

IDS_SHOWN = 20
"""Requests of a tier that are listed by name; JSON has them all."""


@dataclass(frozen=True)
class Explained:
    """What is known of every attempt of one request; shown as text, or as cards."""

    attempts: list[Explanation]

    def __repr__(self) -> str:
        return "\n".join(shown(line) for found in self.attempts for line in request_lines(found))

    def _repr_html_(self) -> str:
        from forensics.evidence.explaincard import request_card

        return "".join(map(request_card, self.attempts))


def request_lines(found: Explanation) -> Iterator[str]:
    """Yield the explanation of a request as lines."""
    tenant = "unknown" if found.tenant_id is None else found.tenant_id
    yield f"request {found.request_id}, attempt {found.attempt}, tenant {tenant}"
    yield f"  tier     {found.tier}"
    yield f"  decided  {decided(found)}"
    yield f"  rung     {found.rung or 'out of scope'}"
    for limit in found.limits:
        yield f"  limit    {limit_line(limit)}"
    if not found.limits:
        yield "  limit    none is known for its node and time"
    yield f"  sources  {sources_line(found.sources)}"
    yield f"           {found.direction}"
    for reason in found.reasons:
        yield f"  reason   {reason.code}: {reason.meaning}"
        yield f"           does not prove {reason.does_not_prove}"
    for lacking in found.missing:
        yield f"  missing  {lacking.column}: {lacking.meaning}"
    for value in found.values:
        yield from _value(value)


def decided(found: Explanation) -> str:
    """Say which rule decided, and its place in the order."""
    if found.decided is None:
        return "by a rule of another version"
    return f"by rule {found.decided.place} of {found.decided.of}: {found.decided.rule}"


def limit_line(limit: Limit) -> str:
    """Say a limit in tokens, from when to when it held, and how it is known."""
    tokens = "unknown" if limit.tokens is None else f"{limit.tokens:,} tokens"
    if limit.capacity_line is None:
        return f"{tokens}: {limit.basis}"
    sizes = ((limit.pool_tokens, "pool"), (limit.context_tokens, "window"))
    known = [f"{name} {size:,}" for size, name in sizes if size is not None]
    span = f"{limit.since or 'the beginning'} to {limit.until or 'the end'}"
    place = f"capacity.csv line {limit.capacity_line}"
    notes = [limit.basis, *known, *(["inferred"] if limit.inferred else [])]
    return f"{tokens} on {limit.node}, {span}: {', '.join(notes)} ({place})"


def sources_line(sources: Sources) -> str:
    """Say how many are listed as possible sources."""
    parts = [f"{count(sources.other_tenants, 'other tenant')} listed as possible"]
    parts += ["the tenant itself"] if sources.same_tenant else []
    parts += ["requests without a tenant"] if sources.unknown_tenant else []
    return ", ".join(parts)


def _value(value: Value) -> Iterator[str]:
    judged = "null" if value.judged_by is None else value.judged_by
    yield f"  {value.column} = {judged}  ({value.why})"
    for seen in value.seen:
        mark = ">" if seen.believed else " "
        yield f"    {mark} {seen.value}  {seen.hop}  {seen.file}:{seen.line}"


def tenant_lines(found: TenantExplanation) -> Iterator[str]:
    """Yield what a report says of a tenant as lines."""
    yield f"tenant {'unknown' if found.tenant_id is None else found.tenant_id}"
    yield f"  listed requests span {found.first_at or 'no time'} to {found.last_at or 'no time'}"
    yield f"  {found.direction}"
    yield from _population("recipient", found.recipient)
    others = count(found.possible_sources, "other tenant")
    yield f"    {others} listed as possible sources for its responses"
    yield from _population("source", found.source)
    responses = count(found.responses_of_others, "response")
    yield f"    listed as a possible source for {responses} of other tenants"
    for listed in found.listed:
        named = ", ".join(listed.requests[:IDS_SHOWN])
        more = len(listed.requests) - IDS_SHOWN
        rest = f", and {more:,} more" if more > 0 else ""
        yield f"  {count(len(listed.requests), 'request')} {listed.tier}: {named}{rest}"


def _population(name: str, row: dict[str, Any] | None) -> Iterator[str]:
    if row is None:
        yield f"  {name}: not in this population"
        return
    known = [f"{key} {value}" for key, value in row.items() if value is not None]
    yield f"  {name}: {', '.join(known)}"
