"""The low end of prefill time of a single day, by prompt length: over days there is no line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from forensics.exposure import PrefillTime
from forensics.report import theme

Figure: TypeAlias = dict[str, Any]

_LOG: Final = {"type": "log", "dtick": 1, "exponentformat": "none"}


def single_day(rows: Sequence[PrefillTime]) -> bool:
    """Say whether all lie on one day."""
    return len({row.day for row in rows}) == 1


def by_length(rows: Sequence[PrefillTime]) -> Figure:
    """5th percentile of each prompt-length bucket; the long-context ones have a star."""
    rows = sorted(rows, key=lambda row: row.low_tokens)
    line = {
        "type": "scatter",
        "mode": "lines+markers",
        "name": f"p5 of {rows[0].day} (UTC), ★ long-context prompts",
        "x": [row.low_tokens for row in rows],
        "y": [row.p5_ms if row.p5_ms > 0 else None for row in rows],
        "text": [f"{row.requests:,} requests, {bucket(row)}" for row in rows],
        "line": {"color": theme.LIMIT, "width": 1.5},
        "marker": {
            "symbol": ["star" if row.long_context else "circle" for row in rows],
            "size": [11 if row.long_context else 6 for row in rows],
        },
        "hovertemplate": "p5 %{y:,.1f} ms of %{text}<extra></extra>",
    }
    lengths = theme.axis("prompt tokens, from (log scale)", **_LOG) | {"separatethousands": True}
    layout = theme.layout(420, xaxis=lengths, yaxis=p5_axis(), showlegend=True)
    return {"data": [line], "layout": layout}


def p5_axis() -> dict[str, Any]:
    """Return the axis of the percentile."""
    title = "p5 of prefill time (ms, log scale)"
    return theme.axis(title, **_LOG) | {"separatethousands": True}


def bucket(row: PrefillTime) -> str:
    """Return the lengths of a bucket in words."""
    mark = "★ " if row.long_context else ""
    return f"{mark}{row.low_tokens:,} to {row.high_tokens:,} tokens"
