"""The heat map of coverage: which node logged when, and where records are missing."""

from __future__ import annotations

from typing import Final

from forensics.exposure import Exposure, HeatCell
from forensics.report import theme
from forensics.report.charts import Figure
from forensics.report.text import label

_STATES: Final = ("none due", "records", "perhaps missing", "partly missing", "missing")
_COLOURS: Final = ("#f4f4f4", "#0072b2", "#56b4e9", "#f0e442", "#d55e00")
"""Of the palette of Okabe and Ito; the marks in the cells say the same without colour."""
_MARKS: Final = {"perhaps missing": "?", "partly missing": "~", "missing": "✕"}
_ROW_PX: Final = 22
_HOUR_MS: Final = 3_600_000


def draw(exposure: Exposure) -> Figure | None:
    """Nodes by time: records, none due, perhaps missing, partly missing, missing."""
    cells = exposure.heat.cells
    if not cells:
        return None
    columns = list(dict.fromkeys(cell.at for cell in cells))
    names = list(dict.fromkeys(_name(cell) for cell in cells))
    rows = [cells[at : at + len(columns)] for at in range(0, len(cells), len(columns))]
    grid = {
        "type": "heatmap",
        "x": columns,
        "xperiod": exposure.heat.hours * _HOUR_MS,
        "xperiodalignment": "middle",
        "y": names,
        "z": [[_STATES.index(cell.state) for cell in row] for row in rows],
        "text": [[_MARKS.get(cell.state, "") for cell in row] for row in rows],
        "customdata": [[_says(cell) for cell in row] for row in rows],
        "texttemplate": "%{text}",
        "hovertemplate": "%{y}, from %{x}: %{customdata}<extra></extra>",
        "zmin": -0.5,
        "zmax": len(_STATES) - 0.5,
        "colorscale": _steps(),
        "colorbar": {
            "tickmode": "array",
            "tickvals": list(range(len(_STATES))),
            "ticktext": [f"{_MARKS.get(state, '')} {state}".strip() for state in _STATES],
            "len": 0.9,
        },
        "xgap": 1,
        "ygap": 2,
    }
    layout = theme.layout(
        140 + _ROW_PX * len(names),
        xaxis=theme.days_axis(),
        yaxis=theme.axis("", type="category", autorange="reversed", showline=False),
    )
    return {"data": [grid], "layout": layout | {"showlegend": False}}


def _steps() -> list[list[float | str]]:
    """Return the colour scale: one even step for each state."""
    share = 1 / len(_COLOURS)
    return [[share * (at + end), colour] for at, colour in enumerate(_COLOURS) for end in (0, 1)]


def _name(cell: HeatCell) -> str:
    return f"{label(cell.node)} ({label(cell.hop)})" if cell.node else label(cell.hop)


def _says(cell: HeatCell) -> str:
    return f"{cell.state}; {cell.records:,} records, {cell.missing:,} of {cell.due:,} h missing"
