"""The report's words as data: tiers, populations, parts in their order, phrases not to be used."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Final

import msgspec
from msgspec import Struct

FILE: Final = "wording.toml"


class TierWords(Struct, frozen=True, forbid_unknown_fields=True):
    """A tier's word, and what is said of a response in it."""

    word: str
    wording: str


class Part(Struct, frozen=True, forbid_unknown_fields=True):
    """One part of the report: its anchor, title, first words, and the tables that stand in it."""

    id: str
    title: str
    intro: str
    tables: list[str]
    intro_write: str = ""
    """First words under a fault that writes, where they are others."""
    intro_unknown: str = ""
    """First words where the direction is not settled, where they are others."""

    def first_words(self, mechanism: str) -> str:
        """Return what the part begins with under a mechanism of the fault."""
        own = {"write": self.intro_write, "unknown": self.intro_unknown}
        return own.get(mechanism) or self.intro


class Words(Struct, frozen=True, forbid_unknown_fields=True):
    """All of it."""

    banned: list[str]
    tier: dict[str, TierWords]
    population: dict[str, str]
    part: list[Part]


@cache
def words() -> Words:
    """Return the words of the package."""
    text = (files("forensics.report") / FILE).read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), Words)
