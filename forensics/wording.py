"""Counts and times in sentences."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


def noun(number: int, words: str) -> str:
    """Return a noun as it stands behind a number: ``request`` or ``requests``.

    In words that go on behind the noun, ``(s)`` stands where an s may be: ``record(s) of a node``.
    """
    words = words if "(s)" in words else f"{words}(s)"
    return words.replace("(s)", "" if number == 1 else "s")


def count(number: int, words: str) -> str:
    """Return ``1 request`` or ``2,000 requests``; the noun as for :func:`noun`."""
    return f"{number:,} {noun(number, words)}"


def moment(at: int) -> str:
    """Return microseconds of UTC since 1970 as ``2026-08-27 14:03:22 UTC``."""
    found = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at)
    return f"{found:%Y-%m-%d %H:%M:%S} UTC"
