"""The report's charts: one small function each, exposure -> a plotly figure.

Each returns None when the document holds nothing to draw. Figures are plain
dictionaries; nothing here counts, adds or averages, and text from logs passes
:func:`forensics.report.text.label` before it comes near plotly.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Final, TypeAlias

from forensics.exposure import Exposure
from forensics.report import theme
from forensics.report.p5chart import by_length, over_days, single_day
from forensics.report.text import label

Figure: TypeAlias = dict[str, Any]
Trace: TypeAlias = dict[str, Any]

_ROW_PX: Final = 26


def _distinct(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))


def _rows_layout(rows: int, x_title: str, **x_more: Any) -> Figure:
    """Layout of a chart with one labelled row per category, the first on top."""
    return theme.layout(
        130 + _ROW_PX * rows,
        xaxis=theme.axis(x_title, **x_more),
        yaxis=theme.axis("", type="category", autorange="reversed", showline=False),
    )


def _log_counts(largest: int) -> Trace:
    """Axis for counts from 1 to the largest; from 0.5, so that a count of 1 has a length."""
    return {
        "type": "log",
        "range": [math.log10(0.5), math.log10(max(largest, 1)) + 0.15],
        "dtick": 1,
        "exponentformat": "none",
        "separatethousands": True,
    }


def funnel(exposure: Exposure) -> Figure | None:
    """From all requests to the delivered ones, on a log axis."""
    steps = exposure.funnel
    if not any(step.requests for step in steps):
        return None
    bar = {
        "type": "bar",
        "orientation": "h",
        "x": [step.requests or None for step in steps],
        "y": [f"{label(step.name)}: {step.requests:,}" for step in steps],
        "marker": {"color": theme.NEUTRAL},
        "hoverinfo": "y",
    }
    axis = _log_counts(max(step.requests for step in steps))
    figure = _rows_layout(len(steps) + 1, "requests (log scale)", **axis)
    return {"data": [bar], "layout": figure | {"showlegend": False}}


def days(exposure: Exposure) -> Figure | None:
    """Requests per day, stacked by tier."""
    rows = exposure.days
    shown = ("confirmed", "probable", "possible", "not_assessable")
    if not any(getattr(day, tier) for day in rows for tier in shown):
        return None
    bars = [
        {
            "type": "bar",
            "name": style.word,
            "x": [day.day for day in rows],
            "y": [getattr(day, style.tier) for day in rows],
            "marker": {"color": style.colour, "line": {"color": "#ffffff", "width": 0.5}},
            "hovertemplate": "%{x|%Y-%m-%d} UTC: %{y:,} requests",
            **theme.WHOLE_DAY,
        }
        for style in map(theme.tier, shown)
    ]
    layout = theme.layout(
        340,
        barmode="stack",
        legend=theme.layout(0)["legend"] | {"traceorder": "normal"},
        xaxis=theme.days_axis(),
        yaxis=theme.axis("requests", rangemode="tozero", tickformat=",d"),
    )
    return {"data": bars, "layout": layout}


_OUTCOMES: Final = (
    ("stopped", "stopped", theme.STOPPED, ""),
    ("served", "served all the same", theme.SERVED, ""),
    ("unknown", "outcome not known", theme.UNKNOWN, "/"),
)


def rejections(exposure: Exposure) -> Figure | None:
    """Rejections per day: stopped, or served all the same. One block per node and code."""
    rows = exposure.rejections
    if not rows:
        return None
    bars = [
        {
            "type": "bar",
            "name": name,
            "x": [row.day for row in rows],
            "y": [getattr(row, field) for row in rows],
            "text": [f"{label(row.node)}, {label(row.code)}" for row in rows],
            "textposition": "none",
            "marker": {
                "color": colour,
                # Edges would hide blocks of few requests where a day has hundreds.
                "line": {"width": 0},
                "pattern": {
                    "shape": shape,
                    "bgcolor": colour,
                    "fgcolor": theme.INK,
                    "solidity": 0.2,
                },
            },
            "hovertemplate": "%{x|%Y-%m-%d} UTC, %{text}: %{y:,} requests",
            **theme.WHOLE_DAY,
        }
        for field, name, colour, shape in _OUTCOMES
    ]
    layout = theme.layout(
        320,
        barmode="stack",
        legend=theme.layout(0)["legend"] | {"traceorder": "normal"},
        xaxis=theme.days_axis(),
        yaxis=theme.axis("rejected requests", rangemode="tozero", tickformat=",d"),
    )
    return {"data": bars, "layout": layout}


def reasons(exposure: Exposure) -> Figure | None:
    """Reasons by tier: one mark each, on a log axis."""
    rows = exposure.reasons
    if not rows:
        return None
    marks = []
    for name in _distinct(row.tier for row in rows):
        style = theme.tier(name)
        mine = [row for row in rows if row.tier == name]
        marks.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": label(style.word),
                "x": [row.requests or None for row in mine],
                "y": [label(row.reason) for row in mine],
                "marker": {
                    "color": style.colour,
                    "symbol": style.symbol,
                    "size": 12,
                    "line": {"color": theme.INK, "width": 1},
                },
                "hovertemplate": "%{y}: %{x:,} requests",
            }
        )
    axis = _log_counts(max(row.requests for row in rows))
    names = _distinct(row.reason for row in rows)
    return {"data": marks, "layout": _rows_layout(len(names) + 1, "requests (log scale)", **axis)}


def missing(exposure: Exposure) -> Figure | None:
    """Which values were missing where a request could not be judged."""
    rows = exposure.missing
    if not rows:
        return None
    bar = {
        "type": "bar",
        "orientation": "h",
        "x": [row.requests for row in rows],
        "y": [label(row.column) for row in rows],
        "marker": {"color": theme.tier("not_assessable").colour},
        "hovertemplate": "%{y}: missing in %{x:,} requests",
    }
    layout = _rows_layout(len(rows), "requests", rangemode="tozero", tickformat=",d")
    return {"data": [bar], "layout": layout | {"showlegend": False}}


def coverage(exposure: Exposure) -> Figure | None:
    """Hours with records against hours spanned, by node; and those of work without a record."""
    rows = exposure.coverage
    if not rows:
        return None
    names = [f"{label(row.node)} ({label(row.hop)})" for row in rows]
    seen, none = [row.hours_with_records for row in rows], [0 for _ in rows]
    series = [
        ("hours spanned", [row.hours for row in rows], none, "#ffffff"),
        ("hours with records", seen, none, theme.NEUTRAL),
    ]
    unlogged = [row.unlogged_hours for row in rows]
    if any(unlogged):
        series.append(("hours of work without a record", unlogged, seen, theme.UNKNOWN))
    bars = [
        {
            "type": "bar",
            "orientation": "h",
            "name": name,
            "x": hours,
            "y": names,
            "base": base,
            "customdata": hours,
            "marker": {"color": colour, "line": {"color": theme.NEUTRAL, "width": 1}},
            "hovertemplate": "%{y}: %{customdata:,} h",
        }
        for name, hours, base, colour in series
    ]
    layout = _rows_layout(len(rows), "hours", rangemode="tozero", tickformat=",d")
    return {"data": bars, "layout": layout | {"barmode": "overlay"}}


def prefill(exposure: Exposure) -> Figure | None:
    """Low end of prefill time per day, one line per prompt-length bucket; of one day by length."""
    rows = exposure.prefill_times
    if not rows:
        return None
    return by_length(rows) if single_day(rows) else over_days(rows)
