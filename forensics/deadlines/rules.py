"""The file of rules: read, and known by its hash and its date."""

from __future__ import annotations

import datetime as dt
import hashlib
from functools import cache
from importlib.resources import files
from typing import Literal

import msgspec
from msgspec import Struct

FILE = "deadlines.yaml"
OLD_DAYS = 90
"""A rule that was looked up so many days before it is used needs another look."""


class Rule(Struct, frozen=True, forbid_unknown_fields=True):
    """One rule: who has to do what, from when, within how long; None where no time is set."""

    id: str
    jurisdiction: str
    role: str
    duty: str
    trigger: str
    duration: str | None
    calendar: str
    status: Literal["in force", "proposed", "unconfirmed"]
    source: str
    as_of: dt.date


class Rules(Struct, frozen=True, forbid_unknown_fields=True):
    """All rules and the date of the file."""

    as_of: dt.date
    rules: tuple[Rule, ...]
    sha256: str = ""

    def older_than(self, moment: dt.date) -> list[str]:
        """Return the ids of rules that were looked up too long before a day."""
        return [r.id for r in self.rules if (moment - r.as_of).days > OLD_DAYS]


@cache
def rules() -> Rules:
    """Return the rules of the package."""
    return parsed((files("forensics.deadlines") / FILE).read_bytes())


def parsed(data: bytes) -> Rules:
    """Return the rules of a file, with its hash.

    Raises:
        ValueError: it is not in the form of rules, or names one twice.
    """
    import yaml

    try:
        found = msgspec.convert(yaml.safe_load(data), Rules)
    except (yaml.YAMLError, msgspec.ValidationError) as error:
        raise ValueError(f"{FILE}: {error}") from None
    names = [rule.id for rule in found.rules]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"{FILE}: {min(twice)} stands there twice")
    return msgspec.structs.replace(found, sha256=hashlib.sha256(data).hexdigest())
