"""Identifiers made of names that may hold anything, a key too, and be long."""

from __future__ import annotations

import re

from forensics import shown
from forensics.sources.keyforms import PATTERN

_UNFIT = re.compile(r"[\s\x00-\x1f\x7f-\x9f\ud800-\udfff]")
LONGEST = 96
"""Characters: leaves room for what is put before and behind, such as a rank or a line."""


_MACHINE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:@/-]{0,252}")


def of_machine(text: str) -> str:
    """Return the name that a log gives to a pod or host; of one that is none, a short hash."""
    return from_path(text) if _MACHINE.fullmatch(text) else shown.withheld(text)


def from_path(text: str) -> str:
    """Return a name from a path as an identifier.

    A long one is cut and told apart by a hash; of one that looks like a key only that is left.
    """
    fit = _UNFIT.sub("_", text)
    if re.search(PATTERN, fit):
        return shown.withheld(text)
    if len(fit) <= LONGEST:
        return fit
    mark = shown.mark(text)
    return f"{mark}~{fit[len(mark) + 1 - LONGEST :]}"
