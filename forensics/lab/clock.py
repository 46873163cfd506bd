"""Integer microseconds since the epoch (UTC) and their RFC 3339 form."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TypeAlias

Micros: TypeAlias = int
"""Microseconds: an instant since 1970-01-01T00:00:00Z, or a duration."""

MILLISECOND: Micros = 1_000
SECOND: Micros = 1_000_000
MINUTE: Micros = 60 * SECOND
HOUR: Micros = 60 * MINUTE
DAY: Micros = 24 * HOUR


def micros(text: str) -> Micros:
    """Return the instant written in RFC 3339 with a zone, in microseconds."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("a time without zone is ambiguous")
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def rfc3339(instant: Micros) -> str:
    """Return `instant` as `YYYY-MM-DDTHH:MM:SS.ffffffZ`."""
    second, fraction = divmod(instant, SECOND)
    return f"{datetime.fromtimestamp(second, UTC):%Y-%m-%dT%H:%M:%S}.{fraction:06d}Z"


def local_second(instant: Micros, offset_hours: float) -> str:
    """Return the wall clock of a node, one second coarse and without zone, as engines log it."""
    shifted = instant // SECOND + round(offset_hours * 3600)
    return f"{datetime.fromtimestamp(shifted, UTC):%Y-%m-%d %H:%M:%S}"
