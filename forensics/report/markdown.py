"""``report.md``: the report as text that any editor shows and any tool can compare."""

from __future__ import annotations

from collections.abc import Iterator

from forensics.exposure import Exposure
from forensics.notices.markdown import escaped
from forensics.report.paper import Grid, Section, paper


def render(exposure: Exposure) -> bytes:
    """Return the report as Markdown; the same document gives the same bytes."""
    return ("\n".join(_lines(exposure)) + "\n").encode()


def _lines(exposure: Exposure) -> Iterator[str]:
    made = paper(exposure)
    yield f"# {escaped(made.title)}"
    yield ""
    yield "| | |"
    yield "|---|---|"
    for name, value in made.control:
        yield f"| {escaped(name)} | {escaped(value)} |"
    for section in made.sections:
        yield from _section(section)


def _section(section: Section) -> Iterator[str]:
    yield f"\n## {escaped(section.heading)}"
    for paragraph in section.paragraphs:
        yield f"\n{escaped(paragraph)}"
    if section.points:
        yield ""
        yield from (f"* {escaped(point)}" for point in section.points)
    for grid in section.grids:
        yield from _grid(grid)


def _grid(grid: Grid | str) -> Iterator[str]:
    if isinstance(grid, str):
        yield f"\n{escaped(grid)}"
        return
    yield f"\n**{escaped(grid.caption)}**\n"
    yield f"| {' | '.join(map(escaped, grid.titles))} |"
    yield f"|{'|'.join('--:' if right else '---' for right in grid.right)}|"
    for row in grid.rows:
        yield f"| {' | '.join(map(escaped, row))} |"
