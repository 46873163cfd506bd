"""What the logs can show and what they cannot: hours, holes in them, and where logs end."""

from __future__ import annotations

from forensics.coverage.doubled import again
from forensics.coverage.hours import BUSY, Coverage, hours_covered, lacking, measure
from forensics.coverage.sequences import skipped

__all__ = ["BUSY", "Coverage", "again", "hours_covered", "lacking", "measure", "skipped"]
