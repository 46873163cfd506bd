"""The report as parts, sentences and tables: what Markdown and paper are made from alike.

Nothing is computed here. A table that no part names stands in the annex, so that a part of
the document that a later version adds cannot be left out in silence.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from forensics.exposure import Bound, Exposure, StatisticalBound, as_json
from forensics.report import casetables, tables, text, theme
from forensics.report.cells import RIGHT, written
from forensics.report.parts import Numbered, numbered
from forensics.report.spec import SHOWN, Table
from forensics.wording import count

ANNEX: Final = "Annex: further tables"


@dataclass(frozen=True)
class Grid:
    """A table as text: titles, which columns hold numbers, rows, and how many there are."""

    caption: str
    titles: tuple[str, ...]
    right: tuple[bool, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Section:
    """One part: heading, paragraphs, points, tables."""

    heading: str
    paragraphs: tuple[str, ...]
    points: tuple[str, ...]
    grids: tuple[Grid | str, ...]
    """A table, or what is said where it has no row."""
    part: str = ""
    """Id of the part, where it is one of the report's."""


@dataclass(frozen=True)
class Paper:
    """The whole report as text."""

    title: str
    control: tuple[tuple[str, str], ...]
    sections: tuple[Section, ...]


def paper(exposure: Exposure, shown: int = SHOWN) -> Paper:
    """Return the report of a document as text.

    Args:
        exposure: the document.
        shown: rows of a table at the most; its caption says how many there are.
    """
    found = {**tables.build(exposure), "tiers": casetables.TIERS.table(exposure)}
    parts = numbered(exposure.scope.mechanism)
    sections = [_section(part, exposure, found, shown) for part in parts]
    placed = {name for part in parts for name in part.tables}
    rest = tuple(_grid(table, shown) for name, table in found.items() if name not in placed)
    if rest:
        sections.append(Section(ANNEX, (), (), rest))
    sections.append(_glossary())
    title = str(text.show(exposure.case.title or exposure.case.id))
    return Paper(title, tuple(_control(exposure)), tuple(sections))


def _control(exposure: Exposure) -> Iterator[tuple[str, str]]:
    case, scope, clocks = exposure.case, exposure.scope, exposure.clocks
    pairs = (
        ("Marking", "TLP:AMBER+STRICT"),
        ("Case", case.id),
        ("Revision", str(case.revision)),
        ("Supersedes the one before", case.supersedes or "not stated"),
        ("Day of this revision", case.as_of or "not stated"),
        ("As of (last record)", text.utc(exposure.headline.ongoing.last_record_at)),
        ("Made by", f"{exposure.tool.name} {exposure.tool.version}"),
        ("Models", ", ".join(scope.models) or "all: none stated"),
        ("Window, start in", text.utc(scope.window_start)),
        ("Window, end out", text.utc(scope.window_end)),
        ("Mechanism", scope.mechanism),
        ("SHA-256 of report.json", hashlib.sha256(as_json(exposure)).hexdigest()),
        ("SHA-256 of the parameters", case.parameters_sha256 or "not stated"),
        ("SHA-256 of the rules of clocks", clocks.rules_sha256 or "none used"),
        ("Inputs and outputs", "manifest.json; check all with sha256sum -c SHA256SUMS"),
        ("Sign-off", "outside of this document, over the SHA-256 of manifest.json"),
    )
    for name, value in pairs:
        yield name, str(text.show(value))


def _section(part: Numbered, exposure: Exposure, found: dict[str, Table], shown: int) -> Section:
    return Section(
        f"{part.number} {part.title}",
        tuple(str(text.show(line)) for line in (part.intro, *_paragraphs(part.id, exposure))),
        tuple(str(text.show(line)) for line in _points(part.id, exposure)),
        tuple(_grid(found[name], shown) for name in part.tables if name in found),
        part.id,
    )


def _paragraphs(part: str, exposure: Exposure) -> list[str]:
    head, who = exposure.headline, theme.populations(exposure.scope.mechanism)
    said = {
        "findings": [
            head.sentence,
            f"{count(head.recipients, 'recipient')}: {who['recipients']}.",
            f"{count(head.sources, 'source')}: {who['sources']}.",
            head.direction,
            head.bound.sentence,
            f"Still happening: {head.ongoing.answer}. {head.ongoing.sentence}",
        ],
        "happened": [head.direction],
        "deliberate": [exposure.deliberate.sentence or "Not asked."],
        "notifications": exposure.clocks.warnings,
    }
    return said.get(part, [])


def _points(part: str, exposure: Exposure) -> list[str]:
    head = exposure.headline
    bounds: list[Bound | StatisticalBound] = [head.bound, *head.further_bounds]
    said = {
        "findings": [f"incomplete: {flag}" for flag in head.incomplete],
        "bounds": [
            f"{text.span(bound.low, bound.high)} ({bound.method}): {bound.sentence}"
            for bound in bounds
        ]
        + [bound.sentence for bound in exposure.share_bounds],
        "deliberate": [
            *(f"counts as a pattern: {item}" for item in exposure.deliberate.searched),
            *(f"cannot be seen: {item}" for item in exposure.deliberate.blind),
        ],
        "limitations-part": [f"{one.sentence} ({one.code})" for one in exposure.limitations],
    }
    return said.get(part, [])


def _grid(table: Table, most: int) -> Grid | str:
    if not table.total:
        return f"{table.caption}: {table.empty}"
    shown = min(len(table.rows), most)
    elsewhere = f", all in {table.file}" if shown < table.total else ""
    return Grid(
        f"{table.caption}. {shown:,} of {table.total:,}{elsewhere}",
        tuple(column.title for column in table.columns),
        tuple(column.kind in RIGHT for column in table.columns),
        tuple(
            tuple(written(c.kind, cell) for c, cell in zip(table.columns, row, strict=True))
            for row in table.rows[:shown]
        ),
    )


def _glossary() -> Section:
    points = tuple(f"{style.word}: {style.wording}" for style in theme.TIERS.values())
    return Section("Glossary of tiers", (), points, ())
