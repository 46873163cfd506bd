"""What a report was made by, against what is here now."""

from __future__ import annotations

from forensics.evidence.record import Record
from forensics.manifest import made_by

_DRAWN_BY = ("jinja2", "plotly")
"""Packages whose own text is in the page."""


def tools() -> tuple[str, dict[str, str]]:
    """Return the version of this tool, and those of what it depends on."""
    now = made_by()
    return now["tool"]["version"], now["dependencies"]


def drawn_alike(record: Record) -> bool:
    """Say whether the page of a report would be drawn with the same bytes here."""
    version, packages = tools()
    alike = all(record.dependencies.get(name) == packages[name] for name in _DRAWN_BY)
    return alike and record.tool.version == version
