"""Settings in JSON of any shape: under ``server_args``, one list for each rank, as arguments.

Only values under the names of the schema become objects. A name with several values, such as
one for each rank, keeps all of them; one whose value is none that can be read is not left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from forensics import enginesettings
from forensics.enginesettings import UNREADABLE
from forensics.schema import CONFIG_KEYS

_ANY = msgspec.json.Decoder(dict[str, Raw] | list[Raw] | str | int | float | bool | None)
_FAULTS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What a decoder raises. The texts of these may quote the record: never show them."""
_DEEPEST = 8
_OF_SETTINGS = re.compile(r"arg|cmd|command|conf|setting|flag|option", re.IGNORECASE)
"""Keys whose text is settings in one; no other text is looked into."""
Pair = tuple[str, str]


class _TooDeepError(Exception):
    """Settings are nested deeper than anybody writes them."""


def told(raw: bytes) -> str | None:
    """Return settings as ``key=value`` joined by ``;``, sorted; None where there are none.

    Args:
        raw: JSON of any kind.
    """
    try:
        value = _ANY.decode(raw)
        if value is None or isinstance(value, str):
            return of_text(value) if value else None
        found = set(_of(value, 0)) if isinstance(value, dict | list) else None
    except (*_FAULTS, _TooDeepError):
        found = None
    if found is None or (not found and not isinstance(value, dict)):
        return enginesettings.UNKNOWN
    return ";".join(sorted(f"{name}={text}" for name, text in found)) or None


def of_text(text: str) -> str | None:
    """Return the settings of a text in any usual form, as :func:`told` does.

    A text that tells settings, but none of these names, has none; any other cannot be read.
    """
    if text.lstrip()[:1] in ("{", "["):
        try:
            _ANY.decode(text)
        except _FAULTS:
            pass
        else:
            return told(text.encode())
    found = set(_kept(enginesettings.pairs(text)))
    if not found and not _TELLING.search(text):
        return enginesettings.UNKNOWN
    return ";".join(sorted(f"{name}={value}" for name, value in found)) or None


_TELLING = re.compile(r"\w[=:]|['\"]\s*:|--\w")


def _of(value: Any, deep: int) -> Iterator[Pair]:
    """Yield the settings of an object, a list or a text."""
    if deep > _DEEPEST:
        raise _TooDeepError
    if isinstance(value, dict):
        for key, raw in value.items():
            yield from _under(key, raw, deep)
    elif isinstance(value, list):
        inner = [_ANY.decode(raw) for raw in value]
        yield from _listed([one for one in inner if isinstance(one, str)])
        for one in inner:
            if isinstance(one, dict | list):
                yield from _of(one, deep + 1)
    elif isinstance(value, str):
        yield from _kept(enginesettings.pairs(value))


def _under(key: str, raw: Raw, deep: int) -> Iterator[Pair]:
    """Yield the settings under a key: its own, or those that it holds."""
    name = enginesettings.plain_name(key)
    if name in CONFIG_KEYS:
        yield from ((name, text) for text in _values(raw, deep))
        return
    first = bytes(raw)[:1]
    if first in (b"{", b"[") or (first == b'"' and _OF_SETTINGS.search(key)):
        yield from _of(_ANY.decode(raw), deep + 1)


def _values(raw: Raw, deep: int) -> Iterator[str]:
    """Yield the values of one setting, of each rank where there are several."""
    if deep > _DEEPEST:
        raise _TooDeepError
    value = _ANY.decode(raw)
    if isinstance(value, dict | list):
        inner = list(value.values() if isinstance(value, dict) else value)
        for one in inner:
            yield from _values(one, deep + 1)
        if not inner:
            yield UNREADABLE
    elif value is not None and value != "":
        yield enginesettings.readable(str(value))


def _listed(texts: Sequence[str]) -> Iterator[Pair]:
    """Yield the settings of a list of texts: a command's arguments, or one setting each."""
    lines = list[str]()
    for text in texts:
        open_ = bool(lines) and _ARGUMENT.fullmatch(lines[-1]) is not None
        if open_ and not text.startswith("-") and "=" not in text:
            lines[-1] += f" {text}"
        else:
            lines.append(text)
    yield from _kept(pair for line in lines for pair in enginesettings.pairs(line))


_ARGUMENT = re.compile(r"-{0,2}[A-Za-z][\w-]*")


def _kept(found: Iterator[Pair]) -> Iterator[Pair]:
    return ((name, value) for name, value in found if value)
