"""Explanations as cards for a notebook: the same words as the text, every one escaped."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import Any, Final

from forensics.evidence.explain import Explanation, Value
from forensics.evidence.explaintenant import TenantExplanation
from forensics.evidence.explaintext import decided, limit_line, sources_line
from forensics.report import theme
from forensics.shown import shown
from forensics.wording import count

_LEFT = "text-align:left;vertical-align:top;white-space:normal"
_BOX = (
    f"border:1px solid {theme.GRID};border-radius:4px;padding:8px 12px;margin:4px 0;"
    # What is wider than the page moves inside its frame.
    "overflow-x:auto"
)
_STAMP: Final = re.compile(r"\b(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d\.\d{6})Z")
"""A time as a report writes it."""
_WHOLE: Final = "<span style='white-space:nowrap'>"
_SPOKEN: Final = rf"{_WHOLE}\1</span> {_WHOLE}\2 UTC</span>"
"""A time as tables show it; a line ends between its day and its hour, and nowhere else."""


def request_card(found: Explanation) -> str:
    """Return what is known of one attempt of a request as HTML: what decided comes first."""
    tenant = "unknown tenant" if found.tenant_id is None else f"tenant {found.tenant_id}"
    title = f"request {found.request_id}, attempt {found.attempt}, {tenant}"
    return _boxed(title, _tier(found.tier) + _facts(found) + _reasons(found) + _values(found))


def tenant_card(found: TenantExplanation) -> str:
    """Return what a report says of a tenant as HTML: both populations, never added up."""
    name = "unknown tenant" if found.tenant_id is None else f"tenant {found.tenant_id}"
    span = f"listed requests from {found.first_at or 'no time'} to {found.last_at or 'no time'}"
    others = count(found.possible_sources, "other tenant")
    responses = count(found.responses_of_others, "response")
    said = [
        span,
        f"{others} listed as possible sources for its responses",
        f"listed as a possible source for {responses} of other tenants",
        found.direction,
    ]
    lines = "".join(f"<div>{_safe(line)}</div>" for line in said)
    return _boxed(name, _populations(found) + lines)


def _populations(found: TenantExplanation) -> str:
    both = {"recipient": found.recipient, "source": found.source}
    known = next((row for row in both.values() if row is not None), {})
    rows = [
        _cell(name, "th") + "".join(_cell(_shown(row[column])) for column in known)
        if row is not None
        else _cell(name, "th") + f"<td style='{_LEFT}' colspan='{len(known)}'>not in it</td>"
        for name, row in both.items()
    ]
    words = [column.removeprefix("n_").replace("_", " ") for column in known]
    return _grid([_head("population", *words), *rows])


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return "–" if value is None else str(value)


def _safe(text: str) -> str:
    return _STAMP.sub(_SPOKEN, html.escape(shown(text)))


def _boxed(title: str, body: str) -> str:
    return f"<div style='{_BOX}'><strong>{_safe(title)}</strong>{body}</div>"


def _tier(name: str) -> str:
    look = theme.tier(name)
    edge = f"border-left:10px solid {look.colour};padding-left:8px;margin:6px 0"
    wording = f": {_safe(look.wording)}" if look.wording else ""
    word = f"<strong>{_safe(look.word)}</strong>"
    return f"<div style='{edge}'>{_safe(look.glyph)} {word}{wording}</div>"


def _facts(found: Explanation) -> str:
    limits = [limit_line(limit) for limit in found.limits]
    rows = [
        ("decided", decided(found)),
        ("rung", found.rung or "out of scope"),
        *(("limit", text) for text in limits or ["none is known for its node and time"]),
        ("sources", sources_line(found.sources)),
        ("direction", found.direction),
        *(("missing", f"{lacking.column}: {lacking.meaning}") for lacking in found.missing),
    ]
    return _grid((_cell(name, "th") + _cell(text)) for name, text in rows)


def _reasons(found: Explanation) -> str:
    if not found.reasons:
        return ""
    rows = [
        _cell(reason.code, "th") + _cell(reason.meaning) + _cell(reason.does_not_prove)
        for reason in found.reasons
    ]
    return _grid([_head("reason", "means", "does not prove"), *rows])


def _values(found: Explanation) -> str:
    head = _head("value", "judged by", "why", "logged as")
    table = _grid([head, *map(_value, found.values)])
    return f"<details open><summary>every value, and where it was read</summary>{table}</details>"


def _value(value: Value) -> str:
    judged = "–" if value.judged_by is None else value.judged_by
    seen = "<br>".join(
        f"{'▸ ' if item.believed else ''}{_safe(f'{item.value}, {item.hop}, {_place(item.file)}')}"
        f":{item.line}"
        for item in value.seen
    )
    plain = _cell(value.column, "th") + _cell(judged) + _cell(value.why)
    return f"{plain}<td style='{_LEFT};min-width:18em;overflow-wrap:anywhere'>{seen}</td>"


def _place(file: str) -> str:
    """Return the end of a path that tells files apart: folder and name."""
    return "/".join(file.rsplit("/", 2)[-2:])


def _head(*names: str) -> str:
    return "".join(_cell(name, "th") for name in names)


def _cell(text: str, kind: str = "td") -> str:
    return f"<{kind} style='{_LEFT}'>{_safe(text)}</{kind}>"


def _grid(rows: Iterable[str]) -> str:
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"
