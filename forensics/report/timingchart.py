"""The charts of prefill times: density with band and flagged cells, alarms, clusters.

Counts of cells, days and clusters are drawn, never single requests: a picture is as large for
ten million of them as for ten thousand.
"""

from __future__ import annotations

import math
from typing import Any, Final, TypeAlias

from forensics.exposure import Exposure, TimingCell, TimingCluster
from forensics.exposure.timing import WORDS
from forensics.report import charts, p5chart, theme
from forensics.report.text import label

Figure: TypeAlias = dict[str, Any]
Trace: TypeAlias = dict[str, Any]

_MARKS: Final = (
    ("#d55e00", "diamond"),
    ("#e69f00", "square"),
    ("#0072b2", "triangle-up"),
    ("#009e73", "triangle-down"),
    ("#cc79a7", "cross"),
    (theme.INK, "diamond-open"),
    (theme.NEUTRAL, "circle-open"),
)
_LOOKS: Final = {kind: (WORDS[kind], *mark) for kind, mark in zip(WORDS, _MARKS, strict=True)}
"""Word, colour and symbol of each kind: no two share any of them."""
_BAND: Final = "#0072b2"
_ALARM: Final = "#d55e00"
MOST_CLUSTERS: Final = 300
_ROW_PX: Final = 30


def density(exposure: Exposure) -> Figure | None:
    """Prefill time against tokens to compute: all requests shaded, the band, flagged cells."""
    cells = exposure.timing_cells
    if not cells:
        return None
    data = [_shade(cells), *_band(exposure), *_flagged(cells)]
    layout = theme.layout(
        520,
        margin=theme.layout(0)["margin"] | {"b": 120},
        xaxis=_log("tokens that had to be computed", [cell.tokens for cell in cells]),
        yaxis=_log("prefill time (ms)", [cell.ms for cell in cells]),
    )
    return {"data": data, "layout": layout}


def _log(title: str, lows: list[int] | list[float]) -> Trace:
    """An axis that ends where the cells do, however wide the band is beyond."""
    span = [math.log10(min(lows)) - 0.1, math.log10(2 * max(lows)) + 0.1]
    look = theme.axis(title, type="log", range=span, dtick=1, exponentformat="none")
    return look | {"separatethousands": True}


def _edges(lows: list[float]) -> list[float]:
    """Edges of half octaves from the lowest cell to beyond the highest."""
    edges = [min(lows)]
    while edges[-1] <= max(lows):
        edges.append(_next(edges[-1]))
    return edges


def _next(edge: float) -> float:
    """Powers of two and one and a half times these follow each other."""
    return edge * (1.5 if math.frexp(edge)[0] == 0.5 else 4 / 3)


def _shade(cells: list[TimingCell]) -> Trace:
    counts: dict[tuple[float, float], int] = {}
    for cell in cells:
        key = (float(cell.tokens), cell.ms)
        counts[key] = counts.get(key, 0) + cell.requests
    x, y = (_edges([key[axis] for key in counts]) for axis in (0, 1))
    grid = [[counts.get((tokens, ms)) for tokens in x[:-1]] for ms in y[:-1]]
    return {
        "type": "heatmap",
        "name": "all requests",
        "x": x,
        "y": y,
        "z": [[math.log10(n) if n else None for n in row] for row in grid],
        "text": [[f"{n:,}" if n else "" for n in row] for row in grid],
        **theme.log_counts(max(counts.values()), "requests of a cell (log)"),
    }


def _band(exposure: Exposure) -> list[Trace]:
    """Where honest times are expected: two dashed lines with a tint between them."""
    rows = exposure.timing_band
    x = [edge for row in rows for edge in (row.tokens, _next(row.tokens))]
    line = {"color": _BAND, "width": 1.5, "dash": "dash"}
    common = {"type": "scatter", "mode": "lines", "x": x, "line": line, "hoverinfo": "skip"}
    least = {"y": [row.least_ms for row in rows for _ in (0, 1)], "showlegend": False}
    most = {"y": [row.most_ms for row in rows for _ in (0, 1)], "name": "expected, all nodes"}
    tint = {"fill": "tonexty", "fillcolor": "rgba(0,114,178,0.08)"}
    return [common | least, common | most | tint] if rows else []


def _flagged(cells: list[TimingCell]) -> list[Trace]:
    """One mark for each cell with flagged requests of a kind, larger where there are more."""
    marks = []
    for kind, (word, colour, symbol) in _LOOKS.items():
        mine = [cell for cell in cells if cell.kind == kind]
        if mine:
            marks.append(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "name": word,
                    "x": [math.sqrt(cell.tokens * _next(cell.tokens)) for cell in mine],
                    "y": [math.sqrt(cell.ms * _next(cell.ms)) for cell in mine],
                    "text": [f"{cell.requests:,}" for cell in mine],
                    "marker": {
                        "color": colour,
                        "symbol": symbol,
                        "size": [7 + 3 * math.log10(cell.requests) for cell in mine],
                        "line": {"color": theme.INK, "width": 0.8},
                    },
                    "hovertemplate": f"{word}: %{{text}} requests<extra></extra>",
                }
            )
    return marks


def prefill(exposure: Exposure) -> Figure | None:
    """5th percentile per day and prompt length, and the alarm hours of the long ones.

    Of one day it is drawn by prompt length.
    """
    figure = charts.prefill(exposure)
    alarms = [row for row in exposure.timing_alarms if row.long_context]
    if figure is None or not alarms:
        return figure
    by_length = p5chart.single_day(exposure.prefill_times)
    at = "" if by_length else "%{x|%Y-%m-%d} UTC: "
    marks: Trace = {
        "type": "scatter",
        "mode": "markers",
        "name": "★ alarm hours: lowest p5 of the day",
        "x": [row.low_tokens if by_length else row.day for row in alarms],
        "y": [row.lowest_p5_ms for row in alarms],
        "text": [
            f"{row.alarms:,} of {row.hours:,} hours, from {row.low_tokens:,} tokens"
            for row in alarms
        ],
        "marker": {"color": _ALARM, "symbol": "x", "size": 9, "line": {"color": theme.INK}},
        "hovertemplate": f"{at}p5 %{{y:,.1f}} ms, alarm in %{{text}}<extra></extra>",
    }
    if not by_length:
        marks |= theme.WHOLE_DAY
    return {"data": [*figure["data"], marks], "layout": figure["layout"]}


def clusters(exposure: Exposure) -> Figure | None:
    """When each cluster began and ended, one row per server; the largest ones only."""
    found = sorted(exposure.timing_clusters, key=lambda row: (-row.requests, row.cluster))
    found = found[:MOST_CLUSTERS]
    if not found:
        return None
    servers = sorted({_server(row) for row in found})
    layout = theme.layout(
        130 + _ROW_PX * len(servers),
        xaxis=theme.days_axis(),
        yaxis=theme.axis("", type="category", categoryarray=servers, autorange="reversed"),
    )
    return {"data": list(_spans(found)), "layout": layout}


def _server(row: TimingCluster) -> str:
    """The server of a cluster's ranks, which stands before the last stroke."""
    node = row.nodes[0] if row.nodes else None
    return label(node and (node.rpartition("/")[0] or node))


def _spans(found: list[TimingCluster]) -> list[Trace]:
    """One line a cluster, from its first to its last request, with a mark at both ends."""
    lines = []
    for kind, (word, colour, symbol) in _LOOKS.items():
        mine = [row for row in found if row.kind == kind]
        if mine:
            said = [f"{row.cluster}, {word}: {row.requests:,} requests" for row in mine]
            lines.append(
                {
                    "type": "scatter",
                    "mode": "lines+markers",
                    "name": word,
                    "x": [at for row in mine for at in (row.first_at, row.last_at, None)],
                    "y": [server for row in mine for server in (_server(row),) * 3],
                    "text": [text for text in said for _ in range(3)],
                    "line": {"color": colour, "width": 4},
                    "marker": {
                        "symbol": symbol,
                        "size": 9,
                        "color": colour,
                        "line": {"color": theme.INK, "width": 0.8},
                    },
                    "hovertemplate": "cluster %{text}, %{x|%Y-%m-%d %H:%M} UTC<extra></extra>",
                }
            )
    return lines
