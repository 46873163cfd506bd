"""The readers' own words: why a line was not read, and what kind of line was left aside.

Such texts go into tables and into the document, and a reader could be wrong and put
a record there. So they are held against the readers' code: a text passes where it is
a text constant of that code, or a few of them and numbers put together. A list kept
by hand would be out of date with the next reader.
"""

from __future__ import annotations

import errno
import os
import pkgutil
import re
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib import import_module
from importlib.abc import InspectLoader
from importlib.util import find_spec
from types import CodeType

_READERS = "forensics.sources"
_NUMBERS = re.compile(r"\d[\d,.]*")
_SHORTEST = 3
"""Characters: shorter constants (separators, units) could be put together to any text."""
_MARKS = frozenset(")]")
"""What is left of a constant behind its last number; of these alone no text can be made."""
_PROFILE = re.compile(r"\bprofile:[a-z][a-z0-9-]{0,30}(?![^ ])")
"""A format that the incident file describes: the user's name for it."""
_MOST = 3
"""Constants that may stand side by side between two numbers."""


@lru_cache(maxsize=4096)
def own(text: str) -> bool:
    """Say whether a text is put together from the readers' constants and numbers."""
    text, named = _PROFILE.subn("", text)
    pieces = [piece for piece in _NUMBERS.split(text) if piece.strip()]
    return bool(pieces or named) and all(_said(piece, _MOST) for piece in pieces)


def _said(piece: str, most: int) -> bool:
    if piece in phrases() or piece.strip() in phrases() or piece.strip() in _MARKS:
        return True
    if most == 1:
        return False
    cuts = range(_SHORTEST, len(piece) - _SHORTEST + 1)
    return any(piece[:at] in phrases() and _said(piece[at:], most - 1) for at in cuts)


@cache
def phrases() -> frozenset[str]:
    """Return the text constants of the readers' code, and the system's words for its errors."""
    found = {os.strerror(number) for number in errno.errorcode}
    for name in _modules():
        spec = find_spec(name)
        if spec is not None and isinstance(spec.loader, InspectLoader):
            found |= set(_texts(spec.loader.get_code(name)))
    from forensics.sources.profiles.builtin import profiles  # they import readers

    found |= {profile.name for profile in profiles()}
    pieces = {piece for text in found for piece in (text, *_NUMBERS.split(text))}
    return frozenset(piece for piece in pieces if len(piece) >= _SHORTEST)


def _modules() -> Iterator[str]:
    package = import_module(_READERS)
    for module in pkgutil.walk_packages(package.__path__, f"{_READERS}."):
        yield module.name


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple | frozenset):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, CodeType):
        yield from _texts(value.co_consts)
