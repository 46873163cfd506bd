"""Cells of tables as plain text, for what is no page: Markdown and paper."""

from __future__ import annotations

from typing import Any, Final

from forensics.report import text, theme

_NONE: Final = {
    "tenant": "no tenant id",
    "until": "no later record",
    "checked": "none",
    "stated": "not stated",
}
_TIMES: Final = ("time", "until", "checked")
_WRITTEN: Final = {"setting": text.setting, "event": text.event}
RIGHT: Final = ("count", "measure", "gap")
"""Kinds of columns that hold numbers."""


def written(kind: str, value: Any) -> str:
    """Return a cell's text, with what could act as a control made visible."""
    if value is None:
        return _NONE.get(kind, text.ABSENT)
    if kind in _TIMES:
        return text.utc(value)
    if kind in _WRITTEN:
        return _WRITTEN[kind](value)
    if kind == "settings":
        return str(text.show(value)).replace(";", "; ")
    if kind == "tier":
        return theme.tier(value).word
    if isinstance(value, dict):
        pairs = (f"{text.show(name)}: {text.show(value[name])}" for name in sorted(value))
        return "; ".join(pairs) or "0"
    if isinstance(value, list | tuple):
        return ", ".join(str(text.show(item)) for item in value) or "none"
    return str(text.show(value))
