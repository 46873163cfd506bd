"""Variables that hold keys, by their names; who puts the key itself there is not shown it."""

from __future__ import annotations

import re

_NAME = re.compile(r"[A-Z_][A-Z0-9_]{0,63}")


def named(variable: str) -> str:
    """Return a variable's name as it may be shown: what does not look like one may be the key."""
    return variable if _NAME.fullmatch(variable) else "what it names (not shown: no usual name)"
