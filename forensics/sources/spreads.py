"""JSON that is spread over lines of a log, each document as one line."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

_OPENS = r"^\s*(?:\[|\{|\[\s*\{)\s*$"
_CLOSING = ("]", "}")
_LONGEST = 1 << 20
"""Characters of a document that are put together."""


def together(lines: pl.DataFrame) -> Iterator[tuple[str, int, bool]]:
    """Yield text, first line and whether the end was met, of each document.

    Args:
        lines: ``text`` and ``line`` of those that may be part of one.
    """
    if not lines["text"].str.contains(_OPENS).any():
        return
    rows = lines.sort("line")
    opens = rows["text"].str.contains(_OPENS)
    texts, numbers = rows["text"].to_list(), rows["line"].to_list()
    behind = 0
    for at in opens.arg_true():
        if at >= behind:
            behind, text, whole = _document(texts, at)
            yield text, numbers[at], whole


def _document(texts: list[str], at: int) -> tuple[int, str, bool]:
    """Return where the document that begins at a line is over, its text, and whether it ended."""
    indent = _indent(texts[at])
    held, size = [texts[at].strip()], 0
    for place in range(at + 1, len(texts)):
        bare = texts[place].strip()
        held.append(bare)
        size += len(bare)
        if bare.startswith(_CLOSING) and _indent(texts[place]) == indent:
            return place + 1, " ".join(held), True
        if size > _LONGEST:
            return place + 1, " ".join(held), False
    return len(texts), " ".join(held), False


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())
