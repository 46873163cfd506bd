"""Tokens are words, and the model repeats the markers that its KV rows hold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

PLACEHOLDER = "<0>"
"""The one token that a rejected prompt is replaced by."""
_MARKER = re.compile(r"[a-z]+-[0-9a-f]{8,64}")
_AT_MOST = 48


def tokens_of(text: str) -> list[str]:
    """Return the tokens of a text."""
    return text.split()


def markers_in(words: Iterable[str]) -> list[str]:
    """Return the markers among some words, each once, in order of their last place."""
    found: dict[str, None] = {}
    for word in words:
        if _MARKER.fullmatch(word):
            found.pop(word, None)
            found[word] = None
    return list(found)


def answer(rows: Sequence[str | None], wanted: int) -> list[str]:
    """Return the words of an answer to what the rows of a prompt's KV pages hold.

    Args:
        rows: what each attended row holds; None where nobody has written since the start.
        wanted: words asked for at the most.
    """
    seen = markers_in(word for word in rows if word is not None)
    said = ["The", "text", "mentions", *seen[-_AT_MOST:], "and", "ends", "there."]
    return said[: max(1, wanted)]
