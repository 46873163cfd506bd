"""Numbers that the caller states: each has bounds, so that no check runs or passes for ever."""

from __future__ import annotations

import re
from fractions import Fraction

from forensics.errors import UsageError

HEADROOM = "1.25"
LONGEST = 3_600.0
"""Seconds."""


def factor(text: str) -> Fraction:
    """Return how much larger than its window a pool has to be.

    Raises:
        UsageError: it is no plain number, or one below 1, which no pool could fail.
    """
    if not re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,6})?", text):
        raise UsageError("--headroom is a number such as 1.25")
    found = Fraction(text)
    if found < 1:
        raise UsageError("--headroom below 1 would let a pool pass that cannot hold its window")
    return found


def seconds(value: float, option: str, least: float = 0.001) -> float:
    """Return a duration in seconds that is one.

    Raises:
        UsageError: it is below ``least``, over an hour or no number.
    """
    if not least <= value <= LONGEST:
        raise UsageError(f"{option} is a number of seconds from {least:g} to {LONGEST:g}")
    return value
