"""How many bytes may be read, and how they are shared out among the files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from forensics.errors import UsageError

TOTAL = 64 << 20
"""Bytes that are read by default, of all files together."""
LEAST = 8 << 10
"""Bytes below which a sample of a file says nothing; files beyond that are not opened."""

_FILES_IN_FULL = 16
"""The share of one file is a sixteenth of the whole at the most: 4 MiB of 64."""
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@dataclass(frozen=True)
class Budget:
    """Bytes that may be read from disk, of all files and of one."""

    total: int = TOTAL

    @property
    def per_file(self) -> int:
        """The most that is read of one file, bytes."""
        return max(self.total // _FILES_IN_FULL, LEAST)


def parse(text: str) -> Budget:
    """Return the budget of ``64M``, ``64MB``, ``64MiB`` or a number of bytes.

    Raises:
        UsageError: it is no such size, or too small to read anything.
    """
    number = text.strip().upper().removesuffix("B").removesuffix("I")
    unit = number[-1:] if number[-1:] in _UNITS else ""
    number = number.removesuffix(unit)
    if not number.isdecimal() or int(number) * _UNITS[unit] < LEAST:
        raise UsageError(f"budget {text!r} is no size of at least 8K; write 64M or 1G")
    return Budget(int(number) * _UNITS[unit])


def shares(sizes: Sequence[int], budget: Budget) -> list[int]:
    """Return how many bytes may be read of each file; 0 where the file cannot be opened.

    Small files are taken whole; what they leave is shared evenly by the larger ones.
    """
    given = [0] * len(sizes)
    left = budget.total
    order = sorted(range(len(sizes)), key=lambda at: (sizes[at], at))
    for place, at in enumerate(order):
        fair = max(left // (len(order) - place), min(LEAST, left))
        given[at] = min(max(sizes[at], 1), budget.per_file, fair)
        left -= given[at]
    return given
