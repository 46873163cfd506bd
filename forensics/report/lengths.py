"""The chart of prompt length against the limit: all requests below, the edge above."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from datetime import date, timedelta
from typing import Any, TypeAlias

from forensics.exposure import Epoch, Exposure, Point
from forensics.report import theme
from forensics.report.text import label

Figure: TypeAlias = dict[str, Any]
Trace: TypeAlias = dict[str, Any]


def spanned(exposure: Exposure) -> tuple[str, str] | None:
    """First and last edge of the picture in time: whole days where there are any."""
    days = sorted(cell.day for cell in exposure.lengths)
    if days:
        return days[0], after(days[-1])
    times = sorted(point.at for point in exposure.points if point.at)
    if times:
        return times[0], times[-1]
    window = (exposure.scope.window_start, exposure.scope.window_end)
    return (window[0], window[1]) if window[0] and window[1] else None


def after(day: str) -> str:
    """Return the day after a day."""
    return (date.fromisoformat(day) + timedelta(days=1)).isoformat()


def _day_edges(days: Iterable[str]) -> list[str]:
    """Both ends of each day; what lies between two days apart is one empty column."""
    return sorted({edge for day in days for edge in (day, after(day))})


def _length_edges(lows: list[int]) -> list[int]:
    edges = [min(lows)]
    while edges[-1] <= max(lows):
        edges.append(2 * edges[-1])
    return edges


def _density(exposure: Exposure, axes: tuple[str, str]) -> list[Trace]:
    """All requests by day and length bucket; the shade is the logarithm of the count."""
    counts = {(c.day, c.low_tokens): c.requests for c in exposure.lengths if c.low_tokens > 0}
    if not counts:
        return []
    days = _day_edges(day for day, _ in counts)
    lows = _length_edges([low for _, low in counts])
    grid = [[counts.get((day, low)) or None for day in days[:-1]] for low in lows[:-1]]
    return [
        {
            "type": "heatmap",
            "x": days,
            "y": lows,
            "z": [[math.log10(n) if n else None for n in row] for row in grid],
            "text": [[f"{n:,}" if n else "" for n in row] for row in grid],
            **theme.log_counts(max(counts.values()), "requests per day and length (log)"),
            "xgap": 1,
            "ygap": 1,
            "showscale": axes == ("x", "y"),
            "name": "all requests",
            "xaxis": axes[0],
            "yaxis": axes[1],
        }
    ]


def prefill_epochs(exposure: Exposure) -> dict[str, list[Epoch]]:
    """Return the epochs of each node that is not a decode node."""
    by_node: dict[str, list[Epoch]] = {}
    for epoch in exposure.epochs:
        if epoch.role != "decode":
            by_node.setdefault(epoch.node, []).append(epoch)
    return by_node


def _steps(
    epochs: list[Epoch], value: Callable[[Epoch], int | None], span: tuple[str, str]
) -> Trace:
    """A line that stands at the value from each epoch's start to its end."""
    x: list[str] = []
    y: list[int | None] = []
    for epoch in epochs:
        x += [max(epoch.effective_at or span[0], span[0]), epoch.until or span[1]]
        y += [value(epoch)] * 2
    return {"type": "scatter", "mode": "lines", "x": x, "y": y}


def _limits(exposure: Exposure, axes: tuple[str, str], legend: bool) -> list[Trace]:
    """Each prefill node's input limit over time, and the window it was offered with."""
    span = spanned(exposure)
    if span is None:
        return []
    lines = []
    kinds: tuple[tuple[str, Callable[[Epoch], int | None], str, str, float], ...] = (
        ("advertised window", lambda e: e.context_tokens, theme.WINDOW, "dot", 2),
        ("input limit, one line per prefill node", _limit, theme.LIMIT, "solid", 2),
    )
    for name, value, colour, dash, width in kinds:
        for place, (node, epochs) in enumerate(prefill_epochs(exposure).items()):
            lines.append(
                _steps(epochs, value, span)
                | {
                    "name": name,
                    "legendgroup": name,
                    "showlegend": legend and place == 0,
                    "line": {"color": colour, "dash": dash, "width": width},
                    "hovertemplate": f"{label(node)}: %{{y:,}} tokens<extra></extra>",
                    "xaxis": axes[0],
                    "yaxis": axes[1],
                }
            )
    return lines


def _limit(epoch: Epoch) -> int | None:
    return epoch.input_limit_tokens


def _dots(points: list[Point], axes: tuple[str, str]) -> list[Trace]:
    """One mark per request that was over the limit or is affected, by tier."""
    marks = []
    # The surest last, hence on top; in the legend they stand first.
    for rank, style in reversed(list(enumerate(theme.TIERS.values(), start=1001))):
        mine = [p for p in points if p.tier == style.tier]
        if mine:
            marks.append(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "name": style.word,
                    "legendrank": rank,
                    "x": [p.at for p in mine],
                    "y": [p.prompt_tokens for p in mine],
                    "text": [label(p.node) for p in mine],
                    "marker": {
                        "color": style.colour,
                        "symbol": style.symbol,
                        "size": 7,
                        "line": {"color": theme.INK, "width": 0.5},
                    },
                    "hovertemplate": "%{x|%Y-%m-%d %H:%M:%S} UTC: %{y:,} tokens, %{text}",
                    "xaxis": axes[0],
                    "yaxis": axes[1],
                }
            )
    return marks


def named_limits(exposure: Exposure) -> list[tuple[str, int]]:
    """Return the limits to be written beside their lines; of those within 8 % the first."""
    kept: list[tuple[str, int]] = []
    epochs = [e for rows in prefill_epochs(exposure).values() for e in rows]
    values = [
        ("threshold", exposure.scope.threshold_tokens),
        *(("limit", epoch.input_limit_tokens) for epoch in epochs),
        *(("window", epoch.context_tokens) for epoch in epochs),
    ]
    for word, value in values:
        if not value or len(kept) > 5:
            continue
        if all(abs(math.log(value / other)) > 0.08 for _, other in kept):
            kept.append((word, value))
    return kept


def _notes(exposure: Exposure, axes: tuple[str, str]) -> list[Trace]:
    """The limits' values beside their lines."""
    return [
        {
            "xref": f"{axes[0]} domain",
            "yref": axes[1],
            "x": 0,
            "y": math.log10(value),
            "xanchor": "left",
            "yanchor": "bottom",
            "showarrow": False,
            "text": f"{word} {value:,}",
            "bgcolor": "rgba(255,255,255,0.85)",
            "font": {"size": 11},
        }
        for word, value in named_limits(exposure)
    ]


def _threshold(exposure: Exposure, axes: tuple[str, str]) -> list[Trace]:
    value = exposure.scope.threshold_tokens
    if not value:
        return []
    line = {"color": theme.LIMIT, "width": 2, "dash": "dash"}
    where = {"xref": f"{axes[0]} domain", "yref": axes[1], "x0": 0, "x1": 1}
    return [{"type": "line", "y0": value, "y1": value, "line": line, **where}]


def near_limit(exposure: Exposure) -> Trace | None:
    """Range and ticks of the upper panel: the limits and what was over them, with some air."""
    values = [p.prompt_tokens for p in exposure.points if p.prompt_tokens]
    for epochs in prefill_epochs(exposure).values():
        values += [n for e in epochs for n in (e.input_limit_tokens, e.context_tokens) if n]
    if exposure.scope.threshold_tokens:
        values.append(exposure.scope.threshold_tokens)
    if not values:
        return None
    low, high = min(values) * 0.75, max(values) * 1.2
    digits = range(1, 10) if high < 10 * low else (1, 2, 5)
    ticks = [n * 10**k for k in range(9) for n in digits if low <= n * 10**k <= high]
    return {
        "range": [math.log10(low), math.log10(high)],
        "tickvals": ticks,
        "ticktext": [f"{tick:,}" for tick in ticks],
    }


def draw(exposure: Exposure) -> Figure | None:
    """Prompt length against the limit over time: all requests below, the edge above."""
    span, close = spanned(exposure), near_limit(exposure)
    if span is None or not (exposure.lengths or exposure.points):
        return None
    points = [p for p in exposure.points if p.at and p.prompt_tokens]
    whole, edge = ("x", "y"), ("x", "y2")
    data = _density(exposure, whole) + _limits(exposure, whole, legend=not close)
    layout = theme.layout(
        660 if close else 440,
        margin=theme.layout(0)["margin"] | {"b": 110},
        xaxis=theme.days_axis(range=list(span), anchor="y"),
        yaxis=_tokens_axis("all lengths (tokens)", dtick=1, domain=[0, 0.4] if close else [0, 1]),
    )
    if close:
        data += _limits(exposure, edge, legend=True) + _dots(points, edge)
        layout["yaxis2"] = _tokens_axis("near the limit (tokens)", domain=[0.46, 1], **close)
        layout["annotations"] = _notes(exposure, edge)
        layout["shapes"] = _threshold(exposure, edge)
    return {"data": data, "layout": layout}


def _tokens_axis(title: str, **more: Any) -> Trace:
    look = theme.axis(title, type="log", exponentformat="none", separatethousands=True)
    return look | more
