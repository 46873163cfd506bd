"""Shapes at fixed places, in points from the upper left corner; text stays text.

A shape is a plain dictionary that the template draws as it stands. Places are rounded to a
hundredth of a point, so that the same document gives the same bytes on any machine.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from forensics.report import theme

Shape: TypeAlias = dict[str, Any]
Place: TypeAlias = tuple[float, float]
Anchor = Literal["left", "center", "right"]

WIDTH: Final = 760.0
"""Points between the margins of the paper."""
HAIR: Final = 0.4
_MARK: Final = 2.6
_OUTLINES: Final = {
    "diamond": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
    "triangle-up": ((0, -1.2), (1.15, 0.9), (-1.15, 0.9)),
    "square-open": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
}


@dataclass(frozen=True)
class Plate:
    """One picture: what is said above it, its height in points, its shapes in order."""

    caption: str
    height: float
    shapes: tuple[Shape, ...]


def box(at: Place, width: float, height: float, fill: str, edge: str = theme.INK) -> Shape:
    """Return a filled rectangle with a thin edge."""
    corners = ((0.0, 0.0), (width, 0.0), (width, height), (0.0, height))
    return _polygon(((at[0] + x, at[1] + y) for x, y in corners), fill, edge)


def line(
    places: Iterable[Place], colour: str = theme.INK, width: float = HAIR, dash: str = "solid"
) -> Shape:
    """Return an open line through some places."""
    points = [list(map(_round, place)) for place in places]
    return {"kind": "line", "points": points, "colour": colour, "width": width, "dash": dash}


def words(at: Place, text: str, anchor: Anchor = "left", size: float = 7.5) -> Shape:
    """Return text that stands left of, around or right of a place, half above and half below."""
    x, y = map(_round, at)
    return {"kind": "words", "x": x, "y": y, "words": text, "anchor": anchor, "size": size}


def mark(at: Place, tier: str) -> list[Shape]:
    """Return the mark of a tier: each has an outline of its own."""
    style = theme.tier(tier)
    outline = _OUTLINES.get(style.symbol)
    if outline is not None:
        fill = "#ffffff" if style.symbol.endswith("open") else style.colour
        return [_polygon(((at[0] + _MARK * x, at[1] + _MARK * y) for x, y in outline), fill)]
    if style.symbol == "x":
        ends = (((-1, -1), (1, 1)), ((-1, 1), (1, -1)))
        strokes = [[(at[0] + _MARK * x, at[1] + _MARK * y) for x, y in pair] for pair in ends]
        return [
            *(line(stroke, theme.INK, 2.2) for stroke in strokes),
            *(line(stroke, style.colour, 1.4) for stroke in strokes),
        ]
    x, y = map(_round, at)
    return [{"kind": "circle", "x": x, "y": y, "radius": _MARK, "fill": style.colour}]


def clipped(text: str, longest: int) -> str:
    """Return text of a length that its place has room for."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def room(text: str, size: float = 7.5) -> float:
    """Return how wide text is at the most, in points, as long as it has no wide letters."""
    return 0.5 * size * len(text)


def shade(share: float) -> str:
    """Return a grey, from almost white at 0 to dark at 1."""
    level = round(0xF1 + (0x4A - 0xF1) * min(max(share, 0.0), 1.0))
    return f"#{level:02x}{level:02x}{level:02x}"


def _polygon(places: Iterable[Place], fill: str, edge: str = theme.INK) -> Shape:
    points = [list(map(_round, place)) for place in places]
    return {"kind": "polygon", "points": points, "fill": fill, "edge": edge}


def _round(value: float) -> float:
    return round(value, 2)
