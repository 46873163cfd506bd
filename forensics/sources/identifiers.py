"""Identifiers made of file names, which may hold anything and be long."""

from __future__ import annotations

import hashlib
import re

_UNFIT = re.compile(r"[\s\x00-\x1f\x7f-\x9f\ud800-\udfff]")
LONGEST = 96
"""Characters: leaves room for what is put before and behind, such as a rank or a line."""


def from_path(text: str) -> str:
    """Return a name from a path as an identifier; a long one is cut and told apart by a hash."""
    fit = _UNFIT.sub("_", text)
    if len(fit) <= LONGEST:
        return fit
    mark = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{mark}~{fit[len(mark) + 1 - LONGEST :]}"
