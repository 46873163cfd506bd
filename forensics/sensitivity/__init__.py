"""How the counts would be, had a neighbouring choice been made: judged again, never typed."""

from __future__ import annotations

from forensics.sensitivity.choices import Choice, choices
from forensics.sensitivity.outcomes import Outcome, Stand, table

__all__ = ["Choice", "Outcome", "Stand", "choices", "table"]
