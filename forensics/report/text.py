"""How single values are written: numbers, times, and text that others chose.

Tenant ids and node names come from logs and are nobody's promise. Here their control,
direction and invisible characters become visible; escaping for HTML is the template
engine's part, escaping for chart labels is :func:`label`'s.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from markupsafe import Markup

from forensics.shown import visible

ABSENT: Final = "not known"

_TIME: Final = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(\.\d+)?Z", re.ASCII)


def utc(time: str | None) -> str:
    """Return a time of the document as ``2026-08-27 14:03:22 UTC``."""
    if time is None:
        return ABSENT
    match = _TIME.fullmatch(time)
    return f"{match[1]} {match[2]} UTC" if match else visible(time)


def number(value: float) -> str:
    """Return a count with thousands separators, a measure with one decimal as well."""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


def span(low: int, high: int | None) -> str:
    """Return two counts as a range, or as one number where they are the same or one is all."""
    if high is None:
        return f"at least {number(low)}"
    return number(low) if low == high else f"{number(low)} to {number(high)}"


def setting(value: str | None) -> str:
    """Return the value of a setting; one that is a whole number as a count is written."""
    if value is None:
        return ABSENT
    return number(int(value)) if re.fullmatch(r"[1-9]\d{0,17}", value, re.ASCII) else visible(value)


def event(name: str) -> str:
    """Return the name of an event: stated ones are keys of the incident file."""
    return visible(name.replace("_", " "))


def show(value: Any) -> Any:
    """Return what a template shows for a value; markup and undefined names stay as they are."""
    if isinstance(value, Markup):
        return value
    if isinstance(value, str):
        return visible(value)
    if value is None:
        return ABSENT
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return number(value)
    return value


def label(text: str | None, longest: int = 48) -> str:
    """Return text for a chart, where a subset of HTML would otherwise take effect."""
    shown = ABSENT if text is None else visible(text)
    if len(shown) > longest:
        shown = shown[: longest - 1] + "…"
    return shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def json_block(value: Any) -> Markup:
    """Return JSON that may stand inside a script element."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    # All that could end the element or begin a comment is gone, and the rest is ASCII.
    return Markup(text)  # noqa: S704
