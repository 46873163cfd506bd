"""Settings of an engine that decide how decode's pages are used, under any spelling of them.

One is told as an argument (``--disable-radix-cache``), as a value of Python, JSON or a shell
(``True``, ``true``, ``1``), with hyphens or underscores. Whoever asks for one asks here. One that
is there but cannot be read is not left out: that would be as if nobody had set it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from forensics.schema import CONFIG_KEYS

_ON = ("true", "1", "t", "yes", "y", "on")
_OFF = ("false", "0", "f", "no", "n", "off")
_NOTHING = ("none", "null", "nil", "")
_KEPT = "disaggregation_decode_enable_radix_cache"
_CLEARED = "disable_radix_cache"
_GUESSED = "speculative_algorithm"
DECIDING = (_KEPT, _GUESSED)
"""Settings of which it matters that they are there, whatever they say."""
UNREADABLE = "unreadable"
"""Stands for a value that is there and cannot be read."""
UNKNOWN = ";".join(f"{name}={UNREADABLE}" for name in DECIDING)
"""Stands for settings of which nothing can be read."""
SETTING = re.compile(r"[A-Za-z0-9_.:+-]{1,48}")
"""A value that is kept."""

_NAMES = "|".join(key.replace("_", "[-_]") for key in sorted(CONFIG_KEYS, key=len, reverse=True))
_NAMED = re.compile(rf"(?<![\w-])-{{0,2}}({_NAMES})(?![\w-])['\"]?", re.IGNORECASE)
"""A setting's name, as a whole word of any text."""
_VALUE = re.compile(
    r"(?:\s*[=:]\s*|[ \t]+(?![-,;)\]}]|\S+?[=:]))"
    r"(?:'(?P<single>[^']*)'|\"(?P<double>[^\"]*)\"|(?P<open>[\[({<])|(?P<bare>[^\s,;'\")\]}]*))"
)
_ENDED = re.compile(r"['\"]?(?:[ \t]*(?:[,;\n\r)\]}]|$)|[ \t]+(?:-|[\w.'\"-]+?['\"]?\s*[=:]))")
"""What stands behind a value that is one: the end, or the next setting."""


def pairs(config: object) -> Iterator[tuple[str, str]]:
    """Yield name and value of each setting of a text; one without a value is ``True``.

    Args:
        config: settings as one text, joined by ``;`` or in another usual way, or None. Of names
            only :data:`CONFIG_KEYS` are known. A value that cannot be read is :data:`UNREADABLE`.
    """
    text = str(config or "")
    for found in _NAMED.finditer(text):
        yield plain_name(found[1]), _told(text, found.end())


def plain_name(name: str) -> str:
    """Return the name of a setting as the schema has it, whatever way it is spelled."""
    return name.lstrip("-").replace("-", "_").lower()


def _told(text: str, at: int) -> str:
    """Return the value that stands behind a name."""
    found = _VALUE.match(text, at)
    if found is None:
        return "True"
    value = next((v for v in found.group("single", "double", "bare") if v is not None), None)
    if value is None or not _ENDED.match(text, found.end()):
        return UNREADABLE
    return readable(value)


def readable(value: str) -> str:
    """Return a value that is kept, or what stands for one that is not."""
    return value if not value or SETTING.fullmatch(value) else UNREADABLE


def keeps_prefixes(config: object) -> bool | None:
    """Say whether a decode rank that runs apart from prefill keeps prefixes in pages of its own.

    None where no setting says so, or none that can be read: that the cache is not disabled is no
    sign of one, since decode runs without it unless it is asked for. What is neither on nor off
    counts as on.
    """
    said = _said(config, _KEPT) - {UNREADABLE, *_NOTHING}
    if said.difference(_OFF):
        return True
    cleared = bool(_said(config, _CLEARED).intersection(_ON))
    return False if said or cleared else None


def guesses(config: object) -> bool:
    """Say whether tokens are guessed ahead, by any algorithm."""
    return bool(_said(config, _GUESSED).difference(_OFF, _NOTHING, {UNREADABLE}))


def unsettled(config: object) -> bool:
    """Say whether a setting that decides is there without saying what, or says two things."""
    for name in DECIDING:
        said = _said(config, name)
        off = said.intersection((*_OFF, *_NOTHING))
        if UNREADABLE in said or (off and said - off):
            return True
    return False


def contradict(one: object, other: object) -> bool:
    """Say whether two texts tell of a setting that decides, one that it is on and one that not."""
    for name in DECIDING:
        both = _said(one, name), _said(other, name)
        on = [said.difference(_OFF, _NOTHING) for said in both]
        if all(both) and bool(on[0]) != bool(on[1]):
            return True
    return False


def beside(config: object, others: Iterable[object]) -> str | None:
    """Return settings, with each other value that some texts have for one that decides."""
    found = [str(config)] if config else []
    known = {(name, value.lower()) for name, value in pairs(config)}
    for name, value in sorted({pair for other in others for pair in pairs(other)}):
        if name in DECIDING and value and (name, value.lower()) not in known:
            known.add((name, value.lower()))
            found.append(f"{name}={value}")
    return ";".join(found) or None


def _said(config: object, name: str) -> set[str]:
    return {value.lower() for one, value in pairs(config) if one == name}
