"""Harmless words that exist once: planted in one prompt, they must turn up in no other answer."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field

_WORD = re.compile(r"canary-[0-9a-f]{32}")
LONGEST = len("canary-") + 32


def new_marker() -> str:
    """Return a word that nobody has used and nobody will guess."""
    return f"canary-{secrets.token_hex(16)}"


def hashed(marker: str) -> str:
    """Return what may be kept of a marker: the SHA-256 of its bytes, hexadecimal."""
    return hashlib.sha256(marker.encode()).hexdigest()


@dataclass
class Search:
    """Looks for markers in a text that comes in pieces, and keeps nothing else of it."""

    found: set[str] = field(default_factory=set)
    _held: str = ""

    def feed(self, text: str) -> None:
        """Take the next piece."""
        self._held += text
        self.found |= set(_words(self._held))
        self._held = self._held[-LONGEST:]


def _words(text: str) -> Iterator[str]:
    return (match[0] for match in _WORD.finditer(text))
