"""When a clock ends: hours run without a break, months keep their day, weekdays skip weekends."""

from __future__ import annotations

import calendar
import re
from datetime import UTC, datetime, timedelta

_FORM = re.compile(r"P(?:T(?P<hours>\d+)H|(?P<days>\d+)D|(?P<months>\d+)M|(?P<weekdays>\d+)BD)")


def due(start: datetime, duration: str) -> datetime:
    """Return the end of a clock that starts at a moment, in UTC.

    Days count in UTC, from the day after the start, and keep its time of day. Weekdays leave
    out Saturday and Sunday alone: with holidays the true end is later, never earlier.

    Raises:
        ValueError: the duration is in none of the forms ``PT72H``, ``P30D``, ``P1M``, ``P4BD``,
            or the end is after the year 9999.
    """
    match = _FORM.fullmatch(duration)
    if match is None:
        raise ValueError(f"{duration!r} is no duration")
    try:
        return _end(start.astimezone(UTC), match)
    except (OverflowError, ValueError):
        raise ValueError(f"{duration!r} ends after the year 9999") from None


def _end(start: datetime, match: re.Match[str]) -> datetime:
    if match["hours"]:
        return start + timedelta(hours=int(match["hours"]))
    if match["days"]:
        return start + timedelta(days=int(match["days"]))
    if match["months"]:
        return _months_later(start, int(match["months"]))
    return _weekdays_later(start, int(match["weekdays"]))


def _months_later(start: datetime, months: int) -> datetime:
    years, month = divmod(start.month - 1 + months, 12)
    year, month = start.year + years, month + 1
    day = min(start.day, calendar.monthrange(year, month)[1])
    return start.replace(year=year, month=month, day=day)


def _weekdays_later(start: datetime, days: int) -> datetime:
    if not days:
        return start
    weeks, rest = divmod(days, 5)
    # From a weekend the first weekday to come is a Monday, as from the Friday before.
    end = start - timedelta(days=max(0, start.weekday() - 4)) + timedelta(weeks=weeks)
    return end + timedelta(days=rest + 2 * (end.weekday() + rest > 4))
