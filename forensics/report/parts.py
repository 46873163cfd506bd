"""The parts of a report with their numbers, for all renderings alike."""

from __future__ import annotations

from dataclasses import dataclass

from forensics.report.wording import words


@dataclass(frozen=True)
class Numbered:
    """One part and its number in the order of the report; the control page is before all."""

    number: int
    id: str
    title: str
    intro: str
    tables: tuple[str, ...]


def numbered(mechanism: str = "read") -> list[Numbered]:
    """Return the parts in their order, in the words for a mechanism of the fault."""
    return [
        Numbered(number, part.id, part.title, part.first_words(mechanism), tuple(part.tables))
        for number, part in enumerate(words().part, 1)
    ]
