"""Times in the document."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

OPEN_END = 2**62
"""Magnitude in microseconds that stands for an open end of time."""

Time = str
"""RFC 3339 in UTC with microseconds: ``2026-08-27T00:00:00.000000Z``."""


def stamp(value: int | None) -> str | None:
    """Return microseconds of UTC as RFC 3339, or None for none and for open ends."""
    if value is None or abs(value) >= OPEN_END:
        return None
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=value)
    return moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
