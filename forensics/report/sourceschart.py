"""The charts of sources: how fast the circle widens, and who wrote the pages of one response."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from forensics.exposure import Exposure, PageOwner
from forensics.report import theme
from forensics.report.text import label

Figure: TypeAlias = dict[str, Any]

_ROW_PX: Final = 24
_FOREIGN, _OWN, _NOBODY = "#d55e00", "#0072b2", theme.NEUTRAL


def lookback(exposure: Exposure) -> Figure | None:
    """Tenants on the rank against how far one looks back from the read."""
    rows = exposure.attribution.lookback
    if not any(row.most_tenants for row in rows):
        return None
    names = [row.within for row in rows]
    lines = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": word,
            "x": names,
            "y": [getattr(row, field) for row in rows],
            "line": {"color": colour, "dash": dash},
            "marker": {"symbol": symbol, "size": 8},
            "hovertemplate": "%{x}: %{y:,} tenants<extra></extra>",
        }
        for word, field, colour, dash, symbol in (
            ("median over the responses", "median_tenants", _OWN, "solid", "circle"),
            ("most of one response", "most_tenants", _FOREIGN, "dash", "diamond"),
        )
    ]
    layout = theme.layout(
        340,
        xaxis=theme.axis("looking back from the read", type="category"),
        yaxis=theme.axis("other tenants", rangemode="tozero", tickformat=",d"),
    )
    return {"data": lines, "layout": layout}


def owners(exposure: Exposure) -> Figure | None:
    """Pages of one response by owner, the largest on top."""
    example = exposure.attribution.example
    if example is None:
        return None
    rows = [f"{number}. {_name(row)}" for number, row in enumerate(example.owners, 1)]
    bars = []
    for word, colour, mine in (
        ("pages of other tenants", _FOREIGN, _foreign),
        ("pages of the recipient itself", _OWN, lambda row: row.same_tenant),
        ("pages never used since the start", _NOBODY, lambda row: row.owner == "never used"),
    ):
        kept = [(n, row) for n, row in zip(rows, example.owners, strict=True) if mine(row)]
        if kept:
            bars.append(
                {
                    "type": "bar",
                    "orientation": "h",
                    "name": word,
                    "x": [row.pages for _, row in kept],
                    "y": [name for name, _ in kept],
                    "text": [
                        f"{row.pages:,} pages of {row.requests:,} requests" for _, row in kept
                    ],
                    "textposition": "none",
                    "marker": {"color": colour},
                    "hovertemplate": "%{text}<extra></extra>",
                }
            )
    layout = theme.layout(
        140 + _ROW_PX * len(rows),
        barmode="stack",
        xaxis=theme.axis("pages (modelled)", rangemode="tozero", tickformat=",d"),
        yaxis=theme.axis("", type="category", categoryarray=rows, autorange="reversed"),
    )
    return {"data": bars, "layout": layout}


def _foreign(row: PageOwner) -> bool:
    return not row.same_tenant and row.owner != "never used"


def _name(row: PageOwner) -> str:
    return label(row.tenant_id) if row.owner == "tenant" else row.owner
