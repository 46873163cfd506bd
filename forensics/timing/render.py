"""The tables of ``forensics timing`` for the eye."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

import polars as pl

from forensics.checking.render import table
from forensics.timing.soonest import CLEAN

_MOST = 40
"""Rows of a table that are shown; JSON has them all."""
_REQUESTS = (
    "request_id",
    "prefill_node",
    "received_at",
    "prompt_tokens",
    "cached_tokens",
    "prefill_ms",
    "expected_prefill_ms",
    "timing_ratio",
    "speed",
    "tier",
    "timing_cluster",
)
_CLUSTERS = ("cluster", "kind", "requests", "first_at", "last_at", "nodes", "median_ratio")
_WATCHES = ("signal", "state", "first_at", "before", "affected", "clean", "false_alarms")
_HOURS = ("hour", "low", "requests", "p5_ms", "usual_ms", "long_context")


def text(frames: Mapping[str, pl.DataFrame], undecided: Iterable[str]) -> str:
    """Return all tables under their titles, and what timing cannot decide."""
    alarms = frames["hours"].filter(pl.col("alarm"))
    parts = [
        _section("Requests too fast or slow for their tokens", frames["requests"], _REQUESTS),
        _section("Clusters of them", frames["clusters"], _CLUSTERS),
        *(f"{row['cluster']}: {row['reason']}" for row in _first(frames["clusters"])),
        _section("Alarms of the 5th percentile, by hour and prompt length", alarms, _HOURS),
        _section("Sources of prefill times", frames["sources"], frames["sources"].columns),
        *undecided,
        _section("How soon it would have been seen", frames["early_warnings"], _WATCHES),
        *(f"{row['signal']}: {row['sentence']}" for row in _first(frames["early_warnings"])),
        CLEAN,
    ]
    return "\n".join(parts) + "\n"


def _first(frame: pl.DataFrame) -> Iterator[dict[str, Any]]:
    return frame.head(_MOST).iter_rows(named=True)


def _section(title: str, frame: pl.DataFrame, names: Iterable[str]) -> str:
    names = list(names)
    shown = min(_MOST, frame.height)
    head = f"{title}: {shown:,} of {frame.height:,}"
    if not frame.height:
        return f"{head}\n"
    rows = ([_cell(row[name]) for name in names] for row in _first(frame))
    return f"{head}\n{table([name.upper() for name in names], rows)}\n"


def _cell(value: object) -> str:
    for kind, shown in _AS_TEXT:
        if isinstance(value, kind):
            return shown(value)
    return "-" if value is None else str(value)


_AS_TEXT: tuple[tuple[type, Callable[[Any], str]], ...] = (
    (bool, lambda value: "yes" if value else "no"),
    (int, lambda value: f"{value:,}"),
    (float, lambda value: f"{value:,.1f}" if abs(value) >= 10 else f"{value:.3g}"),
    (datetime, lambda value: value.strftime("%Y-%m-%d %H:%M:%S")),
    (list, ";".join),
)
