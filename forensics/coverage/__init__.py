"""What the logs can show and what they cannot: hours, holes in them, and where logs end."""

from __future__ import annotations

from forensics.coverage.hours import BUSY, Coverage, Tally, hours_covered, lacking, measure

__all__ = [
    "BUSY",
    "Coverage",
    "Tally",
    "hours_covered",
    "lacking",
    "measure",
]
