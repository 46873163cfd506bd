"""Harmless words that exist once: planted in one prompt, they must turn up in no other answer."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

_WORD = re.compile(r"canary-[0-9a-f]{32}", re.IGNORECASE)
LONGEST = len("canary-") + 32
_MOST_PLACES = 64


def new_marker() -> str:
    """Return a word that nobody has used and nobody will guess."""
    return f"canary-{secrets.token_hex(16)}"


def hashed(marker: str) -> str:
    """Return what may be kept of a marker: the SHA-256 of its bytes, hexadecimal."""
    return hashlib.sha256(marker.encode()).hexdigest()


def markers_in(text: str) -> set[str]:
    """Return the markers in a text, however it spells their letters."""
    return {match[0].lower() for match in _WORD.finditer(text)}


@dataclass
class Search:
    """Looks for markers in a text that comes in pieces, and keeps nothing else of it."""

    found: set[str] = field(default_factory=set, repr=False)
    _held: str = field(default="", repr=False)

    def feed(self, text: str) -> None:
        """Take the next piece."""
        self._held += text
        self.found |= markers_in(self._held)
        self._held = self._held[-LONGEST:]


@dataclass
class PlacedSearch:
    """Looks for markers in every text of a body, or of one frame after the other.

    What stands at the same place of successive frames is one text: a marker that a stream
    cuts in two is seen wherever the stream puts it.
    """

    _places: dict[Any, Search] = field(default_factory=dict, repr=False)

    @property
    def found(self) -> set[str]:
        """The markers so far."""
        return set().union(*(search.found for search in self._places.values()))

    def feed(self, body: Any) -> None:
        """Take a body, or the next frame."""
        for place, text in _texts(body):
            known = place if place in self._places or len(self._places) < _MOST_PLACES else None
            self._places.setdefault(known, Search()).feed(text)


def _texts(body: Any) -> Iterator[tuple[Any, str]]:
    """Yield each text in a body with its place, in the order of the document."""
    waiting: list[tuple[tuple[Any, ...], Any]] = [((), body)]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, str):
            yield place, value
        elif isinstance(value, dict):
            waiting += [((*place, key), value[key]) for key in reversed(value)]
        elif isinstance(value, list):
            waiting += [((*place, _number(item)), item) for item in reversed(value)]


def _number(item: Any) -> int | None:
    """Return which of several choices an item is part of, where it says so."""
    index = item.get("index") if isinstance(item, dict) else None
    return index if isinstance(index, int) else None
