"""The public summary: totals, without a number from which a few customers could be told.

Which numbers are hidden must say nothing of them to whoever knows these rules, so there is
one decision for all tiers: where a tier has fewer than ``K`` tenants, or a tier or the total
differs from what was last published by fewer than ``K``, no tier but an empty one is shown. No
cell is chosen by its size, and whatever is hidden has many values that fit. The total is shown
unless it is below ``K`` or something moved by a few. Requests are held against what was shown
in the same way; those without a tenant are told of beside the table, so that nothing is left
out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from msgspec import Struct

from forensics.exposure import Exposure
from forensics.notices.facts import TIERS
from forensics.notices.published import NEVER, Published

K: Final = 10
_WORDS: Final = {
    "confirmed": "confirmed",
    "probable": "probable",
    "possible": "possible",
    "not_assessable": "not assessable",
}


SUMMARY: Final = "public_summary.json"


class Bound(Struct, frozen=True):
    """Fewest and most affected responses."""

    low: int
    high: int


@dataclass(frozen=True)
class _Shown:
    """The numbers of a summary; None where one is not shown."""

    cells: dict[str, int | None]
    total: int | None
    requests: dict[str, int | None]
    all_requests: int | None
    unknown: int | None
    bound: Bound | None


def now_published(exposure: Exposure, before: Published) -> Published:
    """Return what is shown with this revision, and what was shown last of what is not."""
    shown = _shown(exposure, before)
    bound = shown.bound

    def last(now: int | None, earlier: int | None) -> int | None:
        return earlier if now is None else now

    return Published(
        before.cells | _numbers(shown.cells),
        last(shown.total, before.total),
        before.requests | _numbers(shown.requests),
        last(shown.all_requests, before.all_requests),
        last(shown.unknown, before.unknown),
        last(bound.low if bound else None, before.low),
        last(bound.high if bound else None, before.high),
    )


def _numbers(cells: Mapping[str, int | None]) -> dict[str, int]:
    return {name: number for name, number in cells.items() if number is not None}


def summary(exposure: Exposure, before: Published = NEVER) -> dict[str, bytes]:
    """Return ``public_summary.json`` and ``public_summary.md``."""
    found = _document(exposure, before)
    data = msgspec.json.format(msgspec.json.encode(found, order="sorted"), indent=2)
    return {SUMMARY: data + b"\n", "public_summary.md": _page(found).encode()}


def hidden(
    cells: Mapping[str, int], k: int = K, before: Published = NEVER
) -> tuple[frozenset[str], bool]:
    """Return the cells that are not shown, and whether their total may be shown.

    Args:
        cells: number of tenants by name of the cell; they add up to the total.
        k: fewest tenants that a shown cell holds.
        before: what was last shown of earlier revisions.
    """
    total = sum(cells.values())
    moved = _near(total, before.total, k) or any(
        _near(number, before.cells.get(name), k) for name, number in cells.items()
    )
    away = {name for name, number in cells.items() if number}
    if not moved and not any(0 < cells[name] < k for name in away):
        return frozenset(), True
    return frozenset(away), not moved and total >= k


def _near(now: int, before: int | None, k: int) -> bool:
    """Say whether a number differs from what was shown, and by fewer than ``k``."""
    return before is not None and 0 < abs(now - before) < k


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
    shown = _shown(exposure, before)
    tenants, _ = _by_tier(exposure)
    others = [r for r in exposure.sources if r.tenant_id is not None and not r.same_tenant_only]
    total = sum(tenants.values())
    return {
        "schema_version": 1,
        "case_id": exposure.case.id,
        "revision": exposure.case.revision,
        "compared_with_revision_before": before is not NEVER,
        "as_of": exposure.headline.ongoing.last_record_at,
        "smallest_cell": K,
        "recipients": [_cell(tier, shown) for tier in TIERS],
        "recipients_total": {
            "tenants": _few(total) if shown.total is None else total,
            "requests": shown.all_requests,
        },
        "requests_without_tenant": (
            _few(_unknown(exposure)) if shown.unknown is None else shown.unknown
        ),
        "sources": band(len(others)),
        "bound": None if shown.bound is None else msgspec.to_builtins(shown.bound),
        "limitations": len(exposure.limitations),
    }


def _shown(exposure: Exposure, before: Published) -> _Shown:
    tenants, requests = _by_tier(exposure)
    away, total = hidden(tenants, before=before)
    every = sum(requests.values())
    # One that came or went is told by any of these numbers: all of them are shown, or none.
    still = not _near(every, before.all_requests, K) and not any(
        _near(requests[tier], before.requests.get(tier), K) for tier in TIERS
    )
    unknown = _unknown(exposure)
    known = not 0 < unknown < K and not _near(unknown, before.unknown, K)
    return _Shown(
        {tier: None if tier in away else tenants[tier] for tier in TIERS},
        sum(tenants.values()) if total else None,
        {tier: requests[tier] if still and tier not in away else None for tier in TIERS},
        every if total and still else None,
        unknown if known else None,
        _bound(exposure, before) if total and still and known and not away else None,
    )


def _by_tier(exposure: Exposure) -> tuple[dict[str, int], dict[str, int]]:
    """Return recipients with a name, and their requests, by highest tier."""
    named = [row for row in exposure.recipients if row.tenant_id is not None]
    tenants = {tier: sum(row.tier == tier for row in named) for tier in TIERS}
    requests = {tier: sum(row.requests for row in named if row.tier == tier) for tier in TIERS}
    return tenants, requests


def _unknown(exposure: Exposure) -> int:
    """Return how many requests of recipients name no tenant."""
    return sum(row.requests for row in exposure.recipients if row.tenant_id is None)


def _cell(tier: str, shown: _Shown) -> dict[str, Any]:
    return {
        "highest_tier": tier,
        "tenants": shown.cells[tier],
        "requests": shown.requests[tier],
        "shown": shown.cells[tier] is not None,
    }


def _bound(exposure: Exposure, before: Published) -> Bound | None:
    """Return the bound of the report, where it tells of no few that came or went."""
    bound = exposure.headline.bound
    near = _near(bound.low, before.low, K) or _near(bound.high, before.high, K)
    return None if near else Bound(bound.low, bound.high)


def _page(found: Mapping[str, Any]) -> str:
    lines = [
        "# Public summary\n",
        (
            "Recipients by their highest tier. Where a tier has fewer than "
            f"{found['smallest_cell']} customers, or moved by fewer since it was last published, "
            "no tier is shown but an empty one.\n"
        ),
        "| tier | customers | requests |",
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
        number = f"{low:,}" if low == high else f"between {low:,} and {high:,}"
        lines.append(f"Affected responses: {number} (arithmetic bound).")
    lines.append(
        "Recipients and sources are two lists; a customer can be in both, and they are never "
        "added up."
    )
    if uncompared(found["revision"], compared=found["compared_with_revision_before"]):
        lines.append(
            f"This is revision {found['revision']}, and it was not compared with what was "
            "published before: beside that, a difference could point to a few customers."
        )
    return "\n".join(lines) + "\n"


def uncompared(revision: int, *, compared: bool) -> bool:
    """Say whether an earlier summary may be out that this one was not held against."""
    return revision > 1 and not compared


def _text(value: int | str | None) -> str:
    if value is None:
        return "not shown"
    return value if isinstance(value, str) else f"{value:,}"
