"""Columns of a profile that no record of a file has a value for: their path may not be right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from forensics.sources.parsed import Parsed, Reasons
from forensics.sources.profiles.shape import Profile

_NOTE = "no record has a value for "


def noted(profile: Profile, read: Iterator[Parsed]) -> Iterator[Parsed]:
    """Yield what the records of a file hold, and at its end a note for each such column."""
    left, kept = set(profile.columns), 0
    for parsed in read:
        kept += parsed.kept
        for rows in parsed.observations:
            left -= {name for name in left & {*rows.columns} if rows[name].count()}
        yield parsed
    if kept and left:
        yield Parsed(notes=Counter({f"{_NOTE}{column}": 1 for column in left}))


def columns(notes: Reasons) -> list[str]:
    """Return the columns that notes name, sorted."""
    return sorted(note.removeprefix(_NOTE) for note in notes if note.startswith(_NOTE))
