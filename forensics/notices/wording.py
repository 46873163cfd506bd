"""The sentences of notices as data: read, and refused where they say what they may not."""

from __future__ import annotations

import re
import string
import tomllib
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from forensics.errors import UsageError
from forensics.notices.inert import refuse_active_markdown
from forensics.notices.plaintext import as_words

FILE: Final = "wording.toml"
PLACEHOLDERS: Final = frozenset(
    {
        *("giver", "receiver"),
        *("n_confirmed", "n_probable", "n_possible", "n_not_assessable"),
        *("delivered", "affected", "requests", "to_own", "listed", "total"),
        *("bound_low", "bound_high", "coverage_pct", "gaps", "unreadable", "sampling", "nameless"),
    }
)
"""What a sentence may be filled with."""


class Wording(Struct, frozen=True, forbid_unknown_fields=True):
    """All sentences, by what they are about."""

    revision: int
    banned: list[str]
    title: dict[str, str]
    direction: dict[str, str]
    party: dict[str, str]
    recipient: dict[str, str]
    source: dict[str, str]
    source_write: dict[str, str]
    source_unknown: dict[str, str]
    unaffected: dict[str, str]
    bounds: dict[str, str]
    unknown: dict[str, list[str] | str]
    actions: dict[str, list[str]]
    checking: dict[str, list[str]]

    def several(self, group: str, name: str) -> list[str]:
        """Return the sentences of one name, as a list."""
        found: list[str] | str = getattr(self, group)[name]
        return [found] if isinstance(found, str) else found


def wording(folder: Path | None = None) -> Wording:
    """Return the sentences of the package, or those of a folder that has its own.

    Raises:
        UsageError: the file is not in the same form, asks for an unknown placeholder, or
            holds a phrase that is banned, HTML or a picture.
    """
    built_in = _parsed((files("forensics.notices") / FILE).read_text(encoding="utf-8"), FILE)
    own = folder / FILE if folder is not None else None
    if own is None or not own.is_file():
        return built_in
    found = _parsed(own.read_text(encoding="utf-8", errors="replace"), str(own))
    _same_names(found, built_in, str(own))
    for text in texts_of(found):
        refuse_phrases(text, {*built_in.banned, *found.banned}, str(own))
        refuse_active_markdown(text, str(own))
    return found


def refuse_phrases(text: str, banned: set[str], where: str) -> None:
    """Raise where a reader of a text sees a banned phrase, however it is marked up.

    Raises:
        UsageError: it does.
    """
    plain = as_words(text)
    for phrase in sorted(banned):
        if re.search(rf"(?<!\w){re.escape(as_words(phrase))}(?!\w)", plain):
            raise UsageError(f"{where}: holds the banned phrase {phrase!r}")


def texts_of(found: Wording) -> Iterator[str]:
    """Yield every sentence."""
    for name in found.__struct_fields__:
        value = getattr(found, name)
        for item in value.values() if isinstance(value, dict) else ():
            yield from [item] if isinstance(item, str) else item


def _parsed(text: str, where: str) -> Wording:
    try:
        found = msgspec.convert(tomllib.loads(text), Wording)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise UsageError(f"{where}: {error}") from None
    for sentence in texts_of(found):
        _known_placeholders(sentence, where)
    return found


def _known_placeholders(sentence: str, where: str) -> None:
    try:
        parts = list(string.Formatter().parse(sentence))
    except ValueError as error:
        raise UsageError(f"{where}: {error}") from None
    for _, name, form, conversion in parts:
        if name is not None and (name not in PLACEHOLDERS or form or conversion):
            known = ", ".join(sorted(PLACEHOLDERS))
            raise UsageError(f"{where}: unknown placeholder {{{name}}}; known are: {known}")


def _same_names(found: Wording, built_in: Wording, where: str) -> None:
    for group in found.__struct_fields__:
        ours, theirs = getattr(built_in, group), getattr(found, group)
        if isinstance(ours, dict) and ours.keys() != theirs.keys():
            names = ", ".join(sorted(ours.keys() ^ theirs.keys()))
            raise UsageError(f"{where}: [{group}] lacks or adds: {names}")
