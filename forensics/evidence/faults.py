"""What checking finds: a mismatch, something that cannot be checked, or a count that holds."""

from __future__ import annotations

from msgspec import Struct


class Fault(Struct, frozen=True, omit_defaults=True):
    """One finding, by file; a count has both values. Never holds content."""

    file: str
    what: str
    found: int | None = None
    expected: int | None = None

    @property
    def holds(self) -> bool:
        """Whether this is a count, and as expected: then it is no fault."""
        return self.found is not None and self.found == self.expected

    def __str__(self) -> str:
        if self.found is None or self.expected is None:
            return f"{self.file}: {self.what}"
        return f"{self.file}: {self.what}: {self.found:,}, not {self.expected:,}"


class Recheck(Struct, frozen=True):
    """Faults of the packets of notices, how many were searched, and what was not there."""

    faults: list[Fault]
    packets: int
    unchecked: list[Fault]
