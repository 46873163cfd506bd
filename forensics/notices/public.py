"""The public summary: totals, without a cell from which a few customers could be told.

A cell of fewer than ``K`` tenants is not shown. Neither are others beside it until what is
hidden is two cells or more and holds ``K`` tenants or more, so that no total gives a small
cell away. Where that cannot be had, the total is not shown either. What was published of the
revision before counts too: a cell or a total that differs from it by fewer than ``K`` is hidden,
as the difference would tell of those few.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from forensics.errors import UsageError, VerificationError
from forensics.evidence.files import check
from forensics.evidence.folder import recorded
from forensics.exposure import Exposure, Tenant
from forensics.notices.facts import TIERS

K: Final = 10
_WORDS: Final = {
    "confirmed": "confirmed",
    "probable": "probable",
    "possible": "possible",
    "not_assessable": "not assessable",
}


SUMMARY: Final = "public_summary.json"


class Published(Struct, frozen=True):
    """Tenants by tier and in all, as they were last shown in public; None where never."""

    cells: dict[str, int] = {}
    total: int | None = None


NEVER: Final = Published()
"""Nothing was published yet."""


def published(folder: Path | None, exposure: Exposure) -> Published:
    """Return what summaries showed up to the revision before.

    Args:
        folder: notices of the revision before, or None.
        exposure: the document.

    Raises:
        NoInputError: there are no notices.
        VerificationError: their manifest is not what was written.
        UsageError: they are of another case.
    """
    if folder is None:
        return NEVER
    sealed, record = recorded(folder)
    faults = check(sealed)
    if record.kind != "notices" or faults:
        raise VerificationError(f"{folder}: no notices, or not what was written")
    before = msgspec.json.decode(sealed.manifest or b"", type=_Before)
    if before.case_id != exposure.case.id:
        raise UsageError(f"{folder}: notices of another case")
    return before.published


class _Before(Struct, frozen=True):
    case_id: str
    published: Published = Published()


def now_published(exposure: Exposure, before: Published) -> Published:
    """Return what is shown with this revision, and what was shown last of what is not."""
    tenants, _ = _by_tier(exposure)
    away, total = hidden(tenants, before=before)
    shown = {tier: tenants[tier] for tier in TIERS if tier not in away}
    return Published(before.cells | shown, sum(tenants.values()) if total else before.total)


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
    away = {name for name, number in cells.items() if 0 < number < k}
    moved = {name for name in cells if _near(cells[name], before.cells.get(name), k)}
    if moved or _near(sum(cells.values()), before.total, k):
        # With the total, or the other cells, the few that came or went could be computed.
        return frozenset(away | moved), False
    rest = sorted(cells.keys() - away, key=lambda name: (cells[name] == 0, cells[name], name))
    while away and not _enough(away, cells, k) and rest:
        away.add(rest.pop(0))
    return frozenset(away), not away or _enough(away, cells, k)


def _near(now: int, before: int | None, k: int) -> bool:
    """Say whether a number differs from what was shown, and by fewer than ``k``."""
    return before is not None and 0 < abs(now - before) < k


def _enough(away: set[str], cells: Mapping[str, int], k: int) -> bool:
    """Say whether what is hidden is large enough; as one small cell is not, it is two or more."""
    return sum(cells[name] for name in away) >= k


def band(number: int, k: int = K) -> str:
    """Return a number as a range, for what is not shown exactly."""
    if number == 0:
        return "none"
    if number < k:
        return f"fewer than {k}"
    low = 10 ** (len(str(number)) - 1)
    return f"{low:,} to {10 * low - 1:,}"


def _document(exposure: Exposure, before: Published) -> dict[str, Any]:
    named = [row for row in exposure.recipients if row.tenant_id is not None]
    tenants, requests = _by_tier(exposure)
    away, total = hidden(tenants, before=before)
    others = [r for r in exposure.sources if r.tenant_id is not None and not r.same_tenant_only]
    return {
        "schema_version": 1,
        "case_id": exposure.case.id,
        "revision": exposure.case.revision,
        "compared_with_revision_before": before != NEVER,
        "as_of": exposure.headline.ongoing.last_record_at,
        "smallest_cell": K,
        "recipients": [_cell(tier, tenants, requests, shown=tier not in away) for tier in TIERS],
        "recipients_total": {
            "tenants": sum(tenants.values()) if total else band(sum(tenants.values())),
            "requests": sum(requests.values()) if total else None,
        },
        "sources": band(len(others)),
        "bound": _bound(exposure, named) if total and not away else None,
        "limitations": len(exposure.limitations),
    }


def _by_tier(exposure: Exposure) -> tuple[dict[str, int], dict[str, int]]:
    """Return recipients with a name, and their requests, by highest tier."""
    named = [row for row in exposure.recipients if row.tenant_id is not None]
    tenants = {tier: sum(row.tier == tier for row in named) for tier in TIERS}
    requests = {tier: sum(row.requests for row in named if row.tier == tier) for tier in TIERS}
    return tenants, requests


def _cell(
    tier: str, tenants: Mapping[str, int], requests: Mapping[str, int], *, shown: bool
) -> dict[str, Any]:
    return {
        "highest_tier": tier,
        "tenants": tenants[tier] if shown else None,
        "requests": requests[tier] if shown else None,
        "shown": shown,
    }


def _bound(exposure: Exposure, named: list[Tenant]) -> dict[str, int] | None:
    """Return the bound of the report, where it counts no request of a hidden few."""
    if len(named) != len(exposure.recipients):
        return None  # the difference to the total would be the requests without a tenant
    return {"low": exposure.headline.bound.low, "high": exposure.headline.bound.high}


def _page(found: Mapping[str, Any]) -> str:
    lines = [
        "# Public summary\n",
        (
            "Recipients by their highest tier. A cell that could point to fewer than "
            f"{found['smallest_cell']} customers is not shown, nor is another from which it could "
            "be computed.\n"
        ),
        "| tier | customers | requests |",
        "|---|--:|--:|",
    ]
    for cell in found["recipients"]:
        numbers = (_text(cell["tenants"]), _text(cell["requests"]))
        lines.append(f"| {_WORDS[cell['highest_tier']]} | {' | '.join(numbers)} |")
    total = found["recipients_total"]
    lines.append(f"| all | {_text(total['tenants'])} | {_text(total['requests'])} |\n")
    lines.append(f"Customers whose data could have been in a response: {found['sources']}.")
    if found["bound"] is not None:
        low, high = found["bound"]["low"], found["bound"]["high"]
        number = f"{low:,}" if low == high else f"between {low:,} and {high:,}"
        lines.append(f"Affected responses: {number} (arithmetic bound).")
    lines.append(
        "Recipients and sources are two lists; a customer can be in both, and they are never "
        "added up."
    )
    return "\n".join(lines) + "\n"


def _text(value: int | str | None) -> str:
    if value is None:
        return "not shown"
    return value if isinstance(value, str) else f"{value:,}"
