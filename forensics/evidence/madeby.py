"""What a report was made by, against what is here now."""

from __future__ import annotations

from importlib import metadata

from forensics.build import build
from forensics.evidence.record import Record
from forensics.manifest import made_by

_DRAWN_BY = ("jinja2", "plotly")
"""Packages whose own text is in the page."""


def tools() -> tuple[str, dict[str, str]]:
    """Return the version of this tool, and those of what it depends on."""
    now = made_by()
    return now["tool"]["version"], now["dependencies"]


def same_build(record: Record) -> bool:
    """Say whether a folder was written by the very build that this is."""
    return record.tool.build == build()


def drawn_alike(record: Record) -> bool:
    """Say whether the page of a report would be drawn with the same bytes here."""
    version, packages = tools()
    alike = all(record.dependencies.get(name) == packages[name] for name in _DRAWN_BY)
    return alike and record.tool.version == version and same_build(record)


def printed_alike(record: Record) -> bool:
    """Say whether the paper of a report would be made with the same bytes here."""
    stated = record.arguments.get("typst")
    return drawn_alike(record) and stated is not None and stated == typst_version()


def typst_version() -> str | None:
    """Return the version of typst that is installed, or None."""
    try:
        return metadata.version("typst")
    except metadata.PackageNotFoundError:
        return None
