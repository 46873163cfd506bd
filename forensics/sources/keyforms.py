"""The forms that issuers give their keys, and words that merely begin like one."""

from __future__ import annotations

_KEY = "[0-9A-Za-z_-]"
_WORD = "[0-9A-Za-z_]"
_APART = "(?:^|[^0-9A-Za-z])"
"""Before a key: ``task-…`` and ``disk-…`` are none."""

_KEYS = "|".join(
    (
        rf"sk-{_KEY}{{16,}}",
        rf"[prs]k_(?:live|test)_{_WORD}{{16,}}",
        "(?:AKIA|ASIA)[0-9A-Z]{16}(?:[^0-9A-Za-z]|$)",
        rf"(?:gh[oprsu]|github_pat|gsk)_{_WORD}{{16,}}",
        "hf_[0-9A-Za-z]{16,}",
        rf"xox[abeoprs]-{_KEY}{{10,}}",
        rf"AIza{_KEY}{{30,}}",
        rf"(?:glpat|nvapi|pplx|xai)-{_KEY}{{16,}}",
        rf"eyJ{_KEY}{{6,}}\.eyJ{_KEY}{{6,}}\.",
        r"(?i:bearer)\s+[0-9A-Za-z._~+/=-]{16,}",
    )
)
PATTERN = rf"{_APART}(?:{_KEYS})|-----BEGIN|://[^\s/@:]*:[^\s/@]+@"
"""Matches every text that :func:`looks_secret` says yes to, and few others."""

WORDS = r"^sk(?:-[a-z]{1,15}[0-9]{0,2}|-[0-9]{1,3})+(?:/[a-z]{1,4}[0-9]{1,3})?$"
"""Matches texts that merely begin like a key."""
