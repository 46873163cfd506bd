"""Counts and times in sentences."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


def count(number: int, noun: str) -> str:
    """Return ``1 request`` or ``2,000 requests``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def moment(at: int) -> str:
    """Return microseconds of UTC since 1970 as ``2026-08-27 14:03:22 UTC``."""
    found = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at)
    return f"{found:%Y-%m-%d %H:%M:%S} UTC"
