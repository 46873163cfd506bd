"""Settings of an engine that decide how decode's pages are used, under any spelling of them.

One is told as an argument (``--disable-radix-cache``), as a value of Python, JSON or a shell
(``True``, ``true``, ``1``), with hyphens or underscores. Whoever asks for one asks here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from forensics.schema import CONFIG_KEYS

_ON = ("true", "1", "t", "yes", "y", "on")
_OFF = ("false", "0", "f", "no", "n", "off")
_NOTHING = ("none", "null", "nil", "")
_PART = re.compile(
    r"[\s{'\"]*-{0,2}([A-Za-z][A-Za-z0-9_-]*)['\"]?(?:(?:\s*[=:]\s*|\s+)(.*?))?[\s}]*", re.DOTALL
)
_APART = re.compile(
    r";|\n|\s+(?=--[A-Za-z])|,(?=\s*['\"]?-{0,2}[A-Za-z][A-Za-z0-9_-]*['\"]?\s*[=:])"
)
"""Between settings: as this project joins them, as lines, as arguments, as a list or JSON."""
_KEPT = "disaggregation_decode_enable_radix_cache"
_CLEARED = "disable_radix_cache"
_GUESSED = "speculative_algorithm"


def pairs(config: object) -> Iterator[tuple[str, str]]:
    """Yield name and value of each setting of a text; one without a value is ``True``.

    Args:
        config: settings as one text, joined by ``;`` or in another usual way, or None. Of names
            only :data:`CONFIG_KEYS` are known.
    """
    for part in _APART.split(str(config or "")):
        found = _PART.fullmatch(part)
        name = found[1].replace("-", "_").lower() if found else ""
        if found and name in CONFIG_KEYS:
            yield name, "True" if found[2] is None else found[2].strip("'\"")


def keeps_prefixes(config: object) -> bool | None:
    """Say whether a decode rank that runs apart from prefill keeps prefixes in pages of its own.

    None where no setting says so: that the cache is not disabled is no sign of one, since decode
    runs without it unless it is asked for. What is neither on nor off counts as on.
    """
    told = [value.lower() for name, value in pairs(config) if name == _KEPT]
    said = [value for value in told if value not in _NOTHING]
    if any(value not in _OFF for value in said):
        return True
    cleared = any(value.lower() in _ON for name, value in pairs(config) if name == _CLEARED)
    return False if said or cleared else None


def guesses(config: object) -> bool:
    """Say whether tokens are guessed ahead, by any algorithm."""
    told = [value.lower() for name, value in pairs(config) if name == _GUESSED]
    return any(value not in (*_OFF, *_NOTHING) for value in told)
