"""Text that others chose, as a person is shown it: a file's name, a tenant, an error line.

Such a text can hold a line break that tears a table, a character that steers a terminal or
turns the reading direction, and a key that somebody put into a name. Whatever goes to a
terminal passes here, and so do the names of inputs wherever they are kept.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from functools import cache
from typing import Final

from forensics.sources.keyforms import PATTERN, WORDS

# Drawn as nothing or as a blank, yet of a category that is otherwise drawn.
_BLANK: Final = frozenset("\u115f\u1160\u2800\u3164\uffa0")
_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def shown(text: str) -> str:
    """Return a text as one line without anything hidden, and without what looks like a key."""
    return visible(without_keys(text))


def visible(text: str) -> str:
    """Return the text with every character that cannot be seen written out as its number."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_written_out, text))


def without_paths(text: str) -> str:
    """Return the text with no more of each web address in it than scheme, host and port."""
    return _ADDRESS.sub(r"\1\2/…", text)


_ADDRESS: Final = re.compile(r"(?i)\b(https?://)(?:[^\s/?#@'\"]*@)?([^\s/?#@'\"]*)[/?#][^\s'\"]*")


def without_keys(text: str) -> str:
    """Return the text with a short hash in place of each part that looks like a key."""
    return _KEYS.sub(_without_key, text)


_REST: Final = r"[0-9A-Za-z_=+~-]*"
"""What belongs to a key behind the form that it is known by."""
_KEYS: Final = re.compile(rf"(?:{PATTERN})(?:(?<!@){_REST})?")


def _without_key(found: re.Match[str]) -> str:
    key = re.sub(r"^[\W_]+", "", found[0])
    if re.fullmatch(WORDS, key):
        return found[0]
    # A password is short enough to be found by its hash; the other forms are not.
    return found[0].removesuffix(key) + ("withheld@" if "@" in key else withheld(key))


def withheld(text: str) -> str:
    """Return what stands for a text that is not shown: equal texts have one mark."""
    return f"withheld-{mark(text)}"


def mark(text: str) -> str:
    """Return a short hash that tells a text from others."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _hidden(character: str) -> bool:
    category = unicodedata.category(character)
    return category in _HIDDEN or character in _BLANK or (category == "Zs" and character != " ")


@cache
def _written_out(character: str) -> str:
    return f"⟨U+{ord(character):04X}⟩" if _hidden(character) else character
