"""Who: the tenants of one population, a row each, with a bar and its number for each tier."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from forensics.exposure import Tenant
from forensics.report import tables, text, theme
from forensics.report.plates.ink import WIDTH, Plate, Shape, box, clipped, line, mark, words

SHOWN: Final = 20
"""Rows at the most, the surest and largest; the table has more, and its file all."""
_TIERS: Final = ("confirmed", "probable", "possible", "not_assessable")
_LEFT, _ROW, _HEAD = 150.0, 11.0, 16.0
_NUMBER: Final = 40.0
"""Points right of the longest bar, for its number."""
_NAME: Final = 34


def draw(listed: list[Tenant], of: str) -> Plate | None:
    """Return the picture of a population, or None where nobody is in it.

    Args:
        listed: its tenants.
        of: what is counted of them, in words.
    """
    if not listed:
        return None
    shown = sorted(listed, key=tables.weight)[:SHOWN]
    tiers = [tier for tier in _TIERS if any(_count(tenant, tier) for tenant in listed)]
    most = max((_count(tenant, tier) for tenant in shown for tier in tiers), default=1)
    bottom, column = _HEAD + _ROW * len(shown), (WIDTH - _LEFT) / max(len(tiers), 1)
    shapes: list[Shape] = [_named(row, tenant) for row, tenant in enumerate(shown)]
    for place, tier in enumerate(tiers):
        left = _LEFT + place * column
        shapes += [*mark((left + 3, 6), tier), words((left + 10, 6), theme.tier(tier).word)]
        shapes.append(line([(left, _HEAD - 2), (left, bottom)]))
        shapes += _bars(shown, tier, left, (column - _NUMBER) / max(most, 1))
    caption = (
        f"{of} by tenant and tier, the surest first. "
        f"{len(shown):,} of {len(listed):,} tenants, all in affected_tenants.csv"
    )
    return Plate(caption, bottom + 4, tuple(shapes))


def _named(row: int, tenant: Tenant) -> Shape:
    """Return the name of a row; its number tells apart what was clipped to the same name."""
    name = "no tenant id" if tenant.tenant_id is None else text.show(tenant.tenant_id)
    return words((0, _HEAD + _ROW * (row + 0.5)), clipped(f"{row + 1}. {name}", _NAME))


def _bars(shown: list[Tenant], tier: str, left: float, each: float) -> Iterator[Shape]:
    for row, tenant in enumerate(shown):
        count, middle = _count(tenant, tier), _HEAD + _ROW * (row + 0.5)
        if count:
            width = max(each * count, 1.0)
            yield box((left, middle - 3.5), width, 7, theme.tier(tier).colour)
            yield words((left + width + 3, middle), f"{count:,}", size=6.5)


def _count(tenant: Tenant, tier: str) -> int:
    count: int = getattr(tenant, f"n_{tier}")
    return count
