"""The public summary: totals, without a number from which a few customers could be told.

Requests without a tenant are told of beside the table, so that nothing is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from forensics.exposure import Exposure
from forensics.notices.facts import TIERS
from forensics.notices.published import NEVER, Published, Summary
from forensics.notices.suppression import K, Numbers, shown

_WORDS: Final = {
    "confirmed": "confirmed",
    "probable": "probable",
    "possible": "possible",
    "not_assessable": "not assessable",
}


SUMMARY: Final = "public_summary.json"


def now_published(exposure: Exposure, before: Published) -> Published:
    """Return all that was ever shown, with what is shown of this revision."""
    now = shown(_numbers(exposure), exposure.case.revision, before)
    return Published((*before.summaries, now))


def summary(exposure: Exposure, before: Published = NEVER) -> dict[str, bytes]:
    """Return ``public_summary.json`` and ``public_summary.md``."""
    found = _document(exposure, before)
    data = msgspec.json.format(msgspec.json.encode(found, order="sorted"), indent=2)
    return {SUMMARY: data + b"\n", "public_summary.md": _page(found).encode()}


def _few(number: int) -> str | None:
    """Return what is said of a number that is hidden; of one that moved, not even its range.

    Where a range begins, a number that is known to have moved by a few could be computed.
    """
    return band(number) if number < K else None


def band(number: int, k: int = K) -> str:
    """Return a number as a range, for what is never shown exactly."""
    if number == 0:
        return "none"
    if number < k:
        return f"fewer than {k}"
    low = 10 ** (len(str(number)) - 1)
    return f"{low:,} to {10 * low - 1:,}"


def _document(exposure: Exposure, before: Published) -> dict[str, Any]:
    numbers = _numbers(exposure)
    told = shown(numbers, exposure.case.revision, before)
    others = [r for r in exposure.sources if r.tenant_id is not None and not r.same_tenant_only]
    total = sum(numbers.cells.values())
    return {
        "schema_version": 1,
        "case_id": exposure.case.id,
        "revision": exposure.case.revision,
        "revision_day": exposure.case.as_of,
        "revisions_not_compared": before.lacks(exposure.case.revision),
        "as_of": exposure.headline.ongoing.last_record_at,
        "smallest_cell": K,
        "recipients": [_cell(tier, told) for tier in TIERS],
        "recipients_total": {
            "tenants": _few(total) if told.total is None else total,
            "requests": told.all_requests,
        },
        "requests_without_tenant": (
            _few(numbers.unknown) if told.unknown is None else numbers.unknown
        ),
        "sources": band(len(others)),
        "bound": None if told.low is None else {"low": told.low, "high": told.high},
        "limitations": len(exposure.limitations),
    }


def _numbers(exposure: Exposure) -> Numbers:
    """Return recipients with a name and their requests by highest tier, and the rest."""
    named = [row for row in exposure.recipients if row.tenant_id is not None]
    nameless = [row for row in exposure.recipients if row.tenant_id is None]
    return Numbers(
        {tier: sum(row.tier == tier for row in named) for tier in TIERS},
        {tier: sum(row.requests for row in named if row.tier == tier) for tier in TIERS},
        sum(row.requests for row in nameless),
        exposure.headline.bound.low,
        exposure.headline.bound.high,
    )


def _cell(tier: str, told: Summary) -> dict[str, Any]:
    return {
        "highest_tier": tier,
        "tenants": told.cells.get(tier),
        "requests": told.requests.get(tier),
        "shown": tier in told.cells,
    }


def _page(found: Mapping[str, Any]) -> str:
    lines = [
        "# Public summary\n",
        (
            "Recipients by their highest tier, with all of their requests that are listed: those "
            "of that tier, of lower ones and those that could not be assessed. Where a tier has "
            f"fewer than {found['smallest_cell']} customers, or it or the total moved by fewer "
            "since an earlier revision, no tier is shown but an empty one.\n"
        ),
        "| highest tier | customers | their requests, of any tier |",
        "|---|--:|--:|",
    ]
    for cell in found["recipients"]:
        numbers = (_text(cell["tenants"]), _text(cell["requests"]))
        lines.append(f"| {_WORDS[cell['highest_tier']]} | {' | '.join(numbers)} |")
    total = found["recipients_total"]
    lines.append(f"| all | {_text(total['tenants'])} | {_text(total['requests'])} |\n")
    lines.append(
        "Requests that name no customer, and are in no row above: "
        f"{_text(found['requests_without_tenant'])}."
    )
    lines.append(f"Customers whose data could have been in a response: {found['sources']}.")
    if found["bound"] is not None:
        low, high = found["bound"]["low"], found["bound"]["high"]
        lines.append(f"Affected responses: {_span(low, high)} (arithmetic bound).")
    lines.append(
        "Recipients and sources are two lists; a customer can be in both, and they are never "
        "added up."
    )
    if lacking := found["revisions_not_compared"]:
        lines.append(
            f"This is revision {found['revision']}, and it was not compared with what was "
            f"published of revision {', '.join(map(str, lacking))}: beside that, a difference "
            "could point to a few customers."
        )
    return "\n".join(lines) + "\n"


def _span(low: int, high: int | None) -> str:
    if high is None:
        return f"at least {low:,}; what could not be read leaves no highest number"
    return f"{low:,}" if low == high else f"between {low:,} and {high:,}"


def _text(value: int | str | None) -> str:
    if value is None:
        return "not shown"
    return value if isinstance(value, str) else f"{value:,}"
