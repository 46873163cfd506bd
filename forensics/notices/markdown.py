"""Text that others chose, as Markdown that shows it and does nothing else."""

from __future__ import annotations

import re
from typing import Any, Final

from forensics.report import text

_SIGNS: Final = str.maketrans({sign: f"\\{sign}" for sign in "!\"#$%&'()*+:;<=>?@[\\]^_`{|}~"})
_WWW: Final = re.compile(r"(?i)\bwww\.")
_START: Final = re.compile(r"^(\s*)([-.]|\d+[.)])")
_BACK: Final = re.compile(r"\\([!-/:-@\[-`{-~])")

_HELD: Final = 0x10FF00
"""Private signs at the end of Unicode stand for those that are escaped; nothing shown has any."""
_RELEASED: Final = {_HELD + sign: chr(sign) for sign in range(0x80)}


class Markdown(str):
    """Text of the program's own, which is Markdown already."""

    __slots__ = ()


def escaped(value: str) -> Markdown:
    """Return a text without a sign that Markdown, or HTML in it, would act on.

    Colons and at signs are escaped as well, so that no address becomes a link by itself.
    """
    shown = text.show(value).translate(_SIGNS)
    shown = _WWW.sub(lambda found: found[0][:-1] + "\\.", shown)
    return Markdown(_START.sub(_unlisted, shown))


def show(value: Any) -> Any:
    """Return what a template shows for a value: escaped, unless it is Markdown already."""
    if isinstance(value, Markdown):
        return value
    shown = text.show(value)
    return escaped(shown) if isinstance(value, str) else shown


def held(source: str) -> str:
    """Return Markdown whose escaped signs are no signs of it any more; see :func:`released`."""
    return _BACK.sub(lambda found: chr(_HELD + ord(found[1])), source)


def released(text: str) -> str:
    """Return a text with the signs that :func:`held` took out of it."""
    return text.translate(_RELEASED)


def unescaped(source: str) -> str:
    """Return Markdown without its escapes, as a reader sees it."""
    return released(held(source))


def _unlisted(found: re.Match[str]) -> str:
    head, sign = found[2][:-1], found[2][-1]
    return f"{found[1]}{head}\\{sign}"
