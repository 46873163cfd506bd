"""The low end of prefill time: over days, and of a single day by prompt length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from forensics.exposure import PrefillTime
from forensics.report import theme

Figure: TypeAlias = dict[str, Any]

_LOG: Final = {"type": "log", "dtick": 1, "exponentformat": "none"}
_LONG: Final = (
    (theme.LIMIT, "star", "solid"),
    (theme.WINDOW, "star-square", "8px,3px"),
    ("#009e73", "star-diamond", "2px,2px"),
    ("#cc79a7", "star-triangle-up", "12px,3px,2px,3px"),
)
"""Colour, symbol and dashes of the lines that are looked at: all three differ, and a swatch of the
legend is wide enough to show each."""
_SHORT: Final = "shorter"


def single_day(rows: Sequence[PrefillTime]) -> bool:
    """Say whether all lie on one day."""
    return len({row.day for row in rows}) == 1


def over_days(rows: Sequence[PrefillTime]) -> Figure:
    """5th percentile per day, one line per prompt-length bucket; the long-context ones stand out.

    The others are thin and grey, and one entry of the legend turns them all off: what each is
    stands where the mouse is. The longest prompts are first in the legend.
    """
    lengths = sorted({(row.low_tokens, row.high_tokens, row.long_context) for row in rows})
    of = {bounds: [row for row in rows if row.low_tokens == bounds[0]] for bounds in lengths}
    long = [bounds for bounds in reversed(lengths) if bounds[2]]
    short = [bounds for bounds in lengths if not bounds[2]]
    lines = [
        _grey(of[bounds], 190 - 90 * place // len(short)) for place, bounds in enumerate(short)
    ]
    if short:
        lines.append(_grey([], 130) | {"name": "shorter prompts, one line per length"})
    looks = [_LONG[place % len(_LONG)] for place in range(len(long))]
    lines += [_marked(of[b], *look) for b, look in zip(long[::-1], looks[::-1], strict=True)]
    legend = theme.layout(0)["legend"] | {"traceorder": "reversed", "itemwidth": 56}
    layout = theme.layout(440, legend=legend, xaxis=theme.days_axis(), yaxis=p5_axis())
    return {"data": lines, "layout": layout}


def _line(rows: Sequence[PrefillTime]) -> Figure:
    name = bucket(rows[0]) if rows else ""
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "x": [row.day for row in rows] or [None],
        "y": [row.p5_ms if row.p5_ms > 0 else None for row in rows] or [None],
        "text": [f"{row.requests:,}" for row in rows],
        "hovertemplate": f"%{{x|%Y-%m-%d}} UTC: p5 %{{y:,.1f}} ms of %{{text}} requests, {name}"
        "<extra></extra>",
        **theme.WHOLE_DAY,
    }


def _grey(rows: Sequence[PrefillTime], shade: int) -> Figure:
    look = {
        "line": {"color": f"rgb({shade},{shade},{shade})", "width": 1},
        "marker": {"symbol": "circle", "size": 4},
        "legendgroup": _SHORT,
        "showlegend": not rows,
    }
    return _line(rows) | look


def _marked(rows: Sequence[PrefillTime], colour: str, symbol: str, dash: str) -> Figure:
    look = {
        "line": {"color": colour, "width": 2.5, "dash": dash},
        "marker": {"symbol": symbol, "size": 10, "line": {"color": colour, "width": 1}},
    }
    return _line(rows) | look


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
