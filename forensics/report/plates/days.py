"""Affected requests over time: a strip for each tier, a bar for each day with its number."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from forensics.exposure import Exposure
from forensics.report import theme
from forensics.report.plates.ink import WIDTH, Plate, Shape, box, line, mark, words
from forensics.report.plates.time import Axis, moment
from forensics.schema import TIERS

_DAY: Final = timedelta(days=1)
_LEFT: Final = 92.0
_STRIP, _AIR = 36.0, 12.0
_NUMBERED: Final = 40
"""Days of an axis up to which each bar has its number above it."""


def draw(exposure: Exposure) -> Plate | None:
    """Return the picture, or None where no day has a listed request."""
    counts = {
        tier: {moment(day.day): getattr(day, tier) for day in exposure.days if getattr(day, tier)}
        for tier in TIERS
        if tier != "ruled_out"
    }
    shown = {tier: by_day for tier, by_day in counts.items() if by_day}
    if not shown:
        return None
    every = sorted(moment(day.day) for day in exposure.days)
    axis = Axis(every[0], every[-1] + _DAY, _LEFT, WIDTH, whole_days=True)
    bottom = len(shown) * (_STRIP + _AIR)
    shapes = axis.drawn(0, bottom)
    for place, (tier, by_day) in enumerate(shown.items(), 1):
        shapes += _strip(axis, tier, by_day, place * (_STRIP + _AIR))
    caption = (
        "Requests per day (UTC) by tier. Each strip has its own scale: the number of its "
        "highest bar stands at the left"
    )
    return Plate(caption, bottom + 18, tuple(shapes))


def _strip(axis: Axis, tier: str, by_day: dict[datetime, int], bottom: float) -> list[Shape]:
    style, most = theme.tier(tier), max(by_day.values())
    middle = bottom - _STRIP / 2
    shapes = [
        *mark((6, middle - 5), tier),
        words((13, middle - 5), style.word),
        words((13, middle + 5), f"most a day: {most:,}", size=6.5),
        line([(axis.left, bottom), (axis.right, bottom)]),
    ]
    numbered = axis.last - axis.first <= _NUMBERED * _DAY
    for day, count in sorted(by_day.items()):
        left, right = axis.at(day), axis.at(day + _DAY)
        width, height = min(0.8 * (right - left), 30.0), max(_STRIP * count / most, 1.0)
        middle = (left + right) / 2
        shapes.append(box((middle - width / 2, bottom - height), width, height, style.colour))
        if numbered:
            shapes.append(words((middle, bottom - height - 4.5), f"{count:,}", "center", 6))
    return shapes
