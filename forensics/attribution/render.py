"""What ``forensics sources`` shows: tenants, ranks, and the pairs that the model names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import polars as pl

from forensics.checking.render import table
from forensics.exposure import Exposure

_MOST = 40
"""Rows of a table that are shown; JSON has them all."""
_TENANTS = ("tenant_id", "tier", "n_probable", "n_possible", "responses", "pages")
_RANKS = ("node", "since", "responses", "allocator", "result", "replays", "hours_fitting", "hours")
_LOOKBACK = ("within", "median_tenants", "most_tenants", "responses")
_PAIRS = ("request_id", "source_request_id", "source_tenant_id", "pages", "probability", "tier")
_SPREAD = ("way", "responses", "requests", "known")


def text(exposure: Exposure, pairs: pl.DataFrame) -> str:
    """Return all tables under their titles.

    Args:
        exposure: the document.
        pairs: responses and sources, as the report writes them.
    """
    found = exposure.attribution
    named = pairs.filter(pl.col("probability").is_not_null()).sort(
        "pages", "request_id", "source_request_id", descending=[True, False, False]
    )
    parts = [
        _section("Tenants whose data affected responses may have held", exposure.sources, _TENANTS),
        found.sentence,
        _section("Decode ranks with affected responses", found.ranks, _RANKS),
        *(f"{rank.node}: {'; '.join(rank.reasons)}" for rank in found.ranks if rank.reasons),
        _section("Other tenants on the rank before the read", found.lookback, _LOOKBACK),
        _rows("Pages by request, modelled", list(named.iter_rows(named=True)), _PAIRS),
        _section("Where it may have gone on", found.spread, _SPREAD),
    ]
    return "\n".join(parts) + "\n"


def _section(title: str, rows: Sequence[Any], names: Iterable[str]) -> str:
    names = list(names)
    return _rows(title, [{n: getattr(row, n) for n in names} for row in rows], names)


def _rows(title: str, rows: list[dict[str, Any]], names: Iterable[str]) -> str:
    names = list(names)
    head = f"{title}: {min(_MOST, len(rows)):,} of {len(rows):,}"
    if not rows:
        return f"{head}\n"
    cells = ([_cell(row[name]) for name in names] for row in rows[:_MOST])
    return f"{head}\n{table([name.upper() for name in names], cells)}\n"


def _cell(value: object) -> str:
    shown: dict[type, Callable[[Any], str]] = {int: "{:,}".format, float: "{:.2f}".format}
    return "-" if value is None else shown.get(type(value), str)(value)
