"""Counts in sentences."""

from __future__ import annotations


def count(number: int, noun: str) -> str:
    """Return ``1 request`` or ``2,000 requests``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
