"""Ratios of one run as bars, for the page: one picture without a script or a font of its own."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

Bar = tuple[str, float]
_ROW, _LEFT, _WIDE, _TOP = 26, 300, 420, 44
_OURS, _OTHERS, _INK = "#0072b2", "#b4b4b4", "#222222"
"""Two of a palette that stays apart for the colour-blind, and by brightness in print."""


def bars(title: str, found: Sequence[Bar], ours: frozenset[str]) -> str:
    """Return an SVG of ratios as bars, each with its number.

    Args:
        title: what was measured, and the unit.
        found: label and ratio, from the top.
        ours: labels that are of this project; the others are what they are held against.
    """
    longest = max(ratio for _, ratio in found)
    rows = [_row(at, bar, bar[1] / longest, bar[0] in ours) for at, bar in enumerate(found)]
    height, width = _TOP + _ROW * len(found) + 10, _LEFT + _WIDE + 70
    font = 'role="img" font-family="sans-serif" font-size="13"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {font}>',
            f"<title>{escape(title)}</title>",
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
            f'<text x="12" y="24" fill="{_INK}" font-weight="bold">{escape(title)}</text>',
            *rows,
            "</svg>",
            "",
        ]
    )


def _row(at: int, bar: Bar, share: float, own: bool) -> str:
    label, ratio = bar
    top, wide = _TOP + at * _ROW, round(_WIDE * share, 1)
    text = f'fill="{_INK}" y="{top + 14}"'
    colour = _OURS if own else _OTHERS
    return (
        f'<text x="{_LEFT - 10}" text-anchor="end" {text}>{escape(label)}</text>'
        f'<rect x="{_LEFT}" y="{top}" width="{wide}" height="18" fill="{colour}"/>'
        f'<text x="{_LEFT + wide + 8}" {text}>× {ratio:.1f}</text>'
    )
