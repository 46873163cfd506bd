"""The shape of a file's first lines: what stands where, and nothing of what stands there.

A word is told by its kind alone, however long it is, and words in a row by two of them; so
neither the length of a key nor the number of words of a sentence can be seen.
"""

from __future__ import annotations

import re
from itertools import islice

MOST_LINES = 3
LONGEST = 80
"""Characters of one line's shape."""
_READ = 4_096
"""Bytes of a line that are looked at."""
NEXT_LINE = " ¶ "
_OTHER = "¤"
_TAB = "→"
_WORD = r"(?:Aa|A|a0|a|0)\+"
SHAPE = rf"(?:{_WORD}|[!-/:-@\[-`{{-~ {_TAB}{_OTHER}]|{NEXT_LINE})*"
"""Matches every shape, and no text with a word or a number in it."""

_TOKEN = re.compile(r"[A-Za-z0-9]+|\s+|[^\x20-\x7e]+|(.)\1*", re.DOTALL)
_IN_A_ROW = re.compile(rf"({_WORD})( {_WORD})+")
_KINDS = (
    ("0+", re.compile("[0-9]+")),
    ("a+", re.compile("[a-z]+")),
    ("A+", re.compile("[A-Z]+")),
    ("Aa+", re.compile("[A-Za-z]+")),
)


def shape(head: bytes) -> str:
    """Return the shape of the first lines; empty where they are no text."""
    if b"\0" in head[:_READ]:
        return ""
    lines = (line for line in head.split(b"\n", 10 * MOST_LINES) if line.strip())
    return NEXT_LINE.join(map(_of_line, islice(lines, MOST_LINES)))


def _of_line(line: bytes) -> str:
    text = line[:_READ].decode("utf-8", "replace").strip()
    signs = _TOKEN.sub(lambda found: _sign(found[0]), text)
    return _cut(_IN_A_ROW.sub(r"\1\2", signs))


def _sign(token: str) -> str:
    if token.isspace():
        return _TAB if "\t" in token else " "
    if not (token.isascii() and token.isprintable()):
        return _OTHER
    if not token.isalnum():
        return token[0]
    return next((sign for sign, kind in _KINDS if kind.fullmatch(token)), "a0+")


def _cut(signs: str) -> str:
    """Cut at a whole sign."""
    found = re.match(rf"(?:{_WORD}|.){{0,{LONGEST}}}", signs, re.DOTALL)
    kept = found[0] if found is not None else ""
    while len(kept) > LONGEST:
        kept = re.sub(rf"(?:{_WORD}|.)$", "", kept, flags=re.DOTALL)
    return kept
