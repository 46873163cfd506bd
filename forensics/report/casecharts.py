"""The charts of the case: its timeline, who sent long prompts when, and the clocks that run."""

from __future__ import annotations

from collections import Counter
from typing import Final

from forensics.exposure import Clock, Exposure
from forensics.report import theme
from forensics.report.charts import Figure
from forensics.report.text import event, label

_ROW_PX: Final = 26
SHOWN: Final = 25
"""Tenants of the picture at the most, those with most of these requests; the table has all."""


def timeline(exposure: Exposure) -> Figure | None:
    """Every moment on one axis of time, one row each, stated and found apart."""
    moments = exposure.timeline
    if not moments:
        return None
    marks = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": basis,
            "x": [moment.at for moment in moments if moment.basis == basis],
            "y": [label(event(moment.name)) for moment in moments if moment.basis == basis],
            "marker": {
                "color": colour,
                "symbol": symbol,
                "size": 13,
                "line": {"color": theme.INK, "width": 1},
            },
            "hovertemplate": "%{y}: %{x|%Y-%m-%d %H:%M:%S} UTC",
        }
        for basis, colour, symbol in (
            ("stated", theme.STOPPED, "diamond"),
            ("found", theme.UNKNOWN, "circle"),
        )
        if any(moment.basis == basis for moment in moments)
    ]
    names = list(dict.fromkeys(label(event(moment.name)) for moment in moments))
    layout = theme.layout(
        130 + _ROW_PX * len(names),
        xaxis=theme.days_axis(),
        yaxis=theme.axis(
            "", type="category", autorange="reversed", categoryorder="array", categoryarray=names
        ),
    )
    return {"data": marks, "layout": layout}


def triggers(exposure: Exposure) -> Figure | None:
    """Requests at or over the limit, one row a tenant and one column a day."""
    days = exposure.deliberate.days
    if not days:
        return None
    shown = [tenant.tenant_id for tenant in exposure.deliberate.tenants][:SHOWN]
    counts = Counter({(row.tenant_id, row.day): row.over_limit for row in days})
    columns = sorted({row.day for row in days})
    cells = [[counts[tenant, day] or None for day in columns] for tenant in shown]
    grid = {
        "type": "heatmap",
        "x": columns,
        # A number before each, as labels that are cut off can be the same.
        "y": [f"{place}. {label(name, 28)}" for place, name in enumerate(shown, 1)],
        "z": cells,
        "colorscale": theme.DENSITY,
        "xgap": 1,
        "ygap": 1,
        "colorbar": {"title": {"text": "requests"}, "thickness": 12, "tickformat": ",d"},
        "hovertemplate": "%{y}, %{x|%Y-%m-%d} UTC: %{z:,} requests",
        "hoverongaps": False,
    }
    layout = theme.layout(
        130 + 20 * len(shown),
        showlegend=False,
        xaxis=theme.days_axis(),
        yaxis=theme.axis("", type="category", autorange="reversed"),
    )
    return {"data": [grid], "layout": layout}


def clocks(exposure: Exposure) -> Figure | None:
    """A line from start to end of each clock that runs, and a mark where it was done."""
    running = [c for c in exposure.clocks.clocks if c.started_at and c.due_at]
    if not running:
        return None
    rules = Counter(clock.rule for clock in running)

    def row(clock: Clock) -> str:
        # Two starts of one rule are two rows: on one they would cover each other.
        several = rules[clock.rule] > 1
        return label(f"{clock.rule}, {clock.started_at}" if several else clock.rule)

    lines: list[Figure] = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "showlegend": place == 0,
            "legendgroup": "due",
            "name": "started, due",
            "x": [clock.started_at, clock.due_at],
            "y": [row(clock)] * 2,
            "line": {"color": theme.NEUTRAL, "width": 5},
            "marker": {"symbol": "line-ns-open", "size": 14, "color": theme.INK},
            "hovertemplate": "%{y}: %{x|%Y-%m-%d %H:%M} UTC",
        }
        for place, clock in enumerate(running)
    ]
    done = [clock for clock in running if clock.done_at]
    lines.append(
        {
            "type": "scatter",
            "mode": "markers",
            "name": "done",
            "x": [clock.done_at for clock in done],
            "y": [row(clock) for clock in done],
            "marker": {"symbol": "star", "size": 13, "color": theme.STOPPED},
            "hovertemplate": "%{y}: done %{x|%Y-%m-%d %H:%M} UTC",
        }
    )
    layout = theme.layout(
        130 + _ROW_PX * len(running),
        xaxis=theme.days_axis(),
        yaxis=theme.axis("", type="category", autorange="reversed"),
    )
    return {"data": lines, "layout": layout}
