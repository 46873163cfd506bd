"""One request over its hops: when each of them had it, from the times that they logged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from forensics.evidence.explain import Explanation
from forensics.report import theme
from forensics.report.text import label

_HOPS: Final = ("gateway", "prefill", "decode", "joined", "engine")
_MARKS: Final = {
    "received_at": ("received", "triangle-right"),
    "reserved_at": ("pages taken", "circle"),
    "released_at": ("pages given back", "circle-open"),
    "finished_at": ("finished", "square"),
}
_ROW_PX: Final = 44


def timeline(attempts: Sequence[Explanation]) -> dict[str, Any] | None:
    """Return the figure of a request: one row for each hop of each attempt.

    Each hop has a clock of its own: a mark that comes before its cause tells of the clocks.

    Returns:
        A plotly figure as a dictionary, or None where no hop logged a time.
    """
    several = len(attempts) > 1
    rows: dict[str, list[tuple[str, str]]] = {}
    for found in attempts:
        suffix = f", attempt {found.attempt}" if several else ""
        for hop, times in _by_hop(found).items():
            rows[f"{hop}{suffix}"] = times
    if not rows:
        return None
    marks = [_mark(name, rows) for name in _MARKS]
    layout = theme.layout(
        150 + _ROW_PX * len(rows),
        xaxis=theme.axis("time (UTC)", type="date", hoverformat="%Y-%m-%d %H:%M:%S.%f"),
        yaxis=theme.axis(
            "",
            type="category",
            autorange="reversed",
            categoryorder="array",
            categoryarray=[label(row) for row in rows],
        ),
    )
    return {"data": [_spans(rows), *(mark for mark in marks if mark["x"])], "layout": layout}


def _by_hop(found: Explanation) -> dict[str, list[tuple[str, str]]]:
    """Return what each hop logged as column and time, hops in the order of a request."""
    seen = [
        (item.hop, value.column, item.value)
        for value in found.values
        if value.column in _MARKS
        for item in value.seen
    ]
    known = (*_HOPS, *sorted({hop for hop, _, _ in seen} - set(_HOPS)))
    rows = {hop: [(column, time) for own, column, time in seen if own == hop] for hop in known}
    return {hop: times for hop, times in rows.items() if times}


def _spans(rows: dict[str, list[tuple[str, str]]]) -> dict[str, Any]:
    """Return a line from the first to the last time of each row."""
    xs: list[str | None] = []
    ys: list[str | None] = []
    for row, times in rows.items():
        moments = sorted(time for _, time in times)
        xs += [moments[0], moments[-1], None]
        ys += [label(row), label(row), None]
    line = {"color": theme.NEUTRAL, "width": 6}
    look = {"type": "scatter", "mode": "lines", "hoverinfo": "skip", "showlegend": False}
    return look | {"x": xs, "y": ys, "line": line}


def _mark(name: str, rows: dict[str, list[tuple[str, str]]]) -> dict[str, Any]:
    word, symbol = _MARKS[name]
    at = [(time, label(row)) for row, times in rows.items() for own, time in times if own == name]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": word,
        "x": [time for time, _ in at],
        "y": [row for _, row in at],
        "marker": {
            "color": theme.STOPPED,
            "symbol": symbol,
            "size": 13,
            "line": {"color": theme.INK, "width": 1},
        },
        "hovertemplate": f"%{{y}}: {word} %{{x|%Y-%m-%d %H:%M:%S.%f}} UTC<extra></extra>",
    }
