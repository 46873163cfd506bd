"""What is known of an engine's version: a hint beside the verdict, which decides nothing."""

from __future__ import annotations

import re

from forensics.live.rankpool import RankPool

_FIXES = (
    ((0, 5, 19), "no release up to 0.5.19 keeps a rejected prompt from being handed over"),
    ((0, 5, 20), "0.5.20 retires a rejected prompt after its forward pass, not before"),
)
_LATER = "0.5.21 and later retire a rejected prompt at the door"


def about_version(rank: RankPool) -> str | None:
    """Return what is known of the SGLang version that a server reports."""
    match = re.match(r"v?(\d+)\.(\d+)\.(\d+)", rank.version or "")
    if match is None or rank.engine != "sglang":
        return None
    number = tuple(int(part) for part in match.groups())
    known = next((text for last, text in _FIXES if number <= last), _LATER)
    return f"version {rank.version} (a hint, forks differ): {known}"
