"""Colours, symbols and words: one look for each tier, the same in text, table and chart.

The colours are from the palette of Okabe and Ito, which people with any of the common
colour vision deficiencies can tell apart. Colour is never the only sign: each tier also
has a symbol and its word.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from forensics.report.wording import words

FONT: Final = 'system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif'
INK: Final = "#1a1a1a"
GRID: Final = "#dcdcdc"
DAY_MS: Final = 86_400_000
WHOLE_DAY: Final = {"xperiod": DAY_MS, "xperiodalignment": "middle"}
"""Puts what is of a day into the middle of it."""

STOPPED: Final = "#0072b2"
SERVED: Final = "#222222"
UNKNOWN: Final = "#f0e442"
LIMIT: Final = "#000000"
WINDOW: Final = "#0072b2"
NEUTRAL: Final = "#5b6770"
DENSITY: Final = [[0.0, "#f1f1f1"], [1.0, "#4a4a4a"]]


@dataclass(frozen=True)
class TierStyle:
    """How one tier looks and what is said of a response in it."""

    tier: str
    word: str
    colour: str
    glyph: str
    symbol: str
    wording: str


_LOOKS: Final = {
    "confirmed": ("#d55e00", "◆", "diamond"),
    "probable": ("#e69f00", "●", "circle"),
    "possible": ("#56b4e9", "▲", "triangle-up"),
    "ruled_out": ("#8c8c8c", "□", "square-open"),
    "not_assessable": ("#cc79a7", "✕", "x"),
}

TIERS: Final = {
    name: TierStyle(name, words().tier[name].word, *look, words().tier[name].wording)
    for name, look in _LOOKS.items()
}


_MET: Final = words().population["met"]
_SHARED: Final = words().population["shared"]

_POPULATIONS: Final = {
    "read": {"recipients": _MET, "sources": _SHARED},
    "write": {"recipients": _SHARED, "sources": _MET},
    "unknown": {
        "recipients": f"{_MET}, and {_SHARED}",
        "sources": f"{_SHARED}, and {_MET}",
    },
}


def populations(mechanism: str) -> dict[str, str]:
    """Return who the recipients and the sources are; a writing fault swaps the two."""
    return _POPULATIONS.get(mechanism, _POPULATIONS["unknown"])


def tier(name: str) -> TierStyle:
    """Return the look of a tier; one that is not known is shown by its name, in grey."""
    return TIERS.get(name) or TierStyle("other", name, "#ffffff", "?", "circle-open", "")


def variables() -> str:
    """Return the colours as CSS custom properties."""
    lines = [f"--tier-{name.replace('_', '-')}: {style.colour};" for name, style in TIERS.items()]
    return ":root { " + " ".join([*lines, f"--ink: {INK};", f"--font: {FONT};"]) + " }"


def axis(title: str, **more: Any) -> dict[str, Any]:
    """Return an axis with the look of this report."""
    look: dict[str, Any] = {
        "title": {"text": title, "standoff": 10},
        "automargin": True,
        "autotypenumbers": "strict",
        "gridcolor": GRID,
        "linecolor": "#888888",
        "showline": True,
        "zeroline": False,
    }
    return look | more


def days_axis(**more: Any) -> dict[str, Any]:
    """Return a time axis that names days, and hours where it is zoomed that far."""
    formats = [
        {"dtickrange": [None, DAY_MS - 1], "value": "%-d %b %H:%M"},
        {"dtickrange": [DAY_MS, None], "value": "%-d %b"},
    ]
    look = axis("day (UTC)", type="date", tickangle=0, tickformatstops=formats)
    return look | more


def layout(height: int, **more: Any) -> dict[str, Any]:
    """Return a chart's layout with the look of this report."""
    look: dict[str, Any] = {
        "height": height,
        "margin": {"l": 56, "r": 16, "t": 8, "b": 48},
        "font": {"family": FONT, "size": 12, "color": INK},
        "paper_bgcolor": "#ffffff",
        "plot_bgcolor": "#ffffff",
        "hovermode": "closest",
        "hoverlabel": {"align": "left", "bgcolor": "#ffffff", "font": {"color": INK}},
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "xanchor": "left", "yanchor": "bottom"},
        "showlegend": True,
    }
    return look | more


def log_counts(largest: int, title: str) -> dict[str, Any]:
    """Return how a heat map of counts on a log scale is coloured, with its bar below it."""
    ticks = list(range(len(str(largest))))
    return {
        "colorscale": DENSITY,
        "zmin": 0,
        "zmax": max(len(ticks) - 1, 1),
        "hovertemplate": "%{text} requests",
        "hoverongaps": False,
        "colorbar": {
            "orientation": "h",
            "thickness": 10,
            "yref": "container",
            "y": 0,
            "yanchor": "bottom",
            "title": {"text": title, "side": "bottom"},
            "tickvals": ticks,
            "ticktext": [f"{10**tick:,}" for tick in ticks],
        },
    }
