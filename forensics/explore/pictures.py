"""One look for every figure of a notebook: that of the report's charts, as a plotly template.

Colours that people with any of the common colour vision deficiencies tell apart, times in
UTC, whole numbers written out. The library lies in the notebook once, in the output of
:func:`forensics.explore.start`; each figure waits for it, and nothing is fetched.
"""

from __future__ import annotations

import json
from numbers import Number
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from forensics.report import theme
from forensics.report.text import json_block
from forensics.wording import count

if TYPE_CHECKING:
    from collections.abc import Mapping

    import plotly.graph_objects as go

NAME: Final = "forensics"
_TIME: Final = "%Y-%m-%d %H:%M:%S UTC"
_HEIGHT: Final = 450
_BUTTONS: Final = 40
"""Pixels over a figure that the row of buttons needs, which the report does not have."""
_NOTHING: Final = "nothing to draw: the case holds no such values"
_PAGE: Final = """\
<div id="{place}" style="height:{height}px">waits for the cell with explore.start()</div>
<script>
(function draw() {{
  const place = document.getElementById("{place}");
  if (!window.Plotly || !place) {{ window.setTimeout(draw, 100); return; }}
  place.textContent = "";
  window.Plotly.newPlot(place, {drawn});
}})();
</script>"""
"""Outputs may come into a page in any order, and before their place in it is there."""
_CONFIG: Final = {"displaylogo": False, "responsive": True}
COLOURS: Final = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442")
"""Okabe and Ito's, in an order in which neighbours differ most."""
TIERS: Final = {name: style.colour for name, style in theme.TIERS.items()}
"""The colour of each tier."""
SYMBOLS: Final = {name: style.symbol for name, style in theme.TIERS.items()}
"""The symbol of each tier: colour is never the only sign."""


def template() -> go.layout.Template:
    """Return the look of the report's charts as a template."""
    import plotly.graph_objects as go

    title = {
        "x": 0,
        "xref": "paper",
        "y": 1,
        "yref": "container",
        "yanchor": "top",
        "pad": {"t": 10},
    }
    look = theme.layout(0, colorway=list(COLOURS), title=title)
    del look["height"]
    margin = {"l": 56, "r": 16, "t": 84, "b": 48}
    times = {"hoverformat": _TIME, "tickformatstops": theme.days_axis()["tickformatstops"]}
    axes = {"xaxis": _axis() | times, "yaxis": _axis()}
    scale = {"sequential": "Cividis", "sequentialminus": "Cividis"}
    return go.layout.Template(layout=look | axes | {"margin": margin, "colorscale": scale})


def _axis() -> dict[str, Any]:
    """Return an axis without a title."""
    return theme.axis("", separatethousands=True) | {"title": {"standoff": 10}}


def use() -> None:
    """Make the look the default of every figure that is drawn from now on."""
    import plotly.io as pio

    pio.templates[NAME] = template()
    pio.templates.default = NAME


def library() -> str:
    """Return the library that draws, as HTML."""
    from plotly.offline import get_plotlyjs

    return f"<script>{get_plotlyjs()}</script>"


class Picture:
    """A figure as a notebook shows it."""

    def __init__(self, figure: go.Figure | None) -> None:
        self.figure = figure

    def __repr__(self) -> str:
        if self.figure is None:
            return _NOTHING
        return f"figure with {count(len(self.figure.data), 'trace')}"

    def _repr_html_(self) -> str:
        if self.figure is None:
            return f"<p>{_NOTHING}</p>"
        place, height = f"figure-{uuid4().hex}", self.figure.layout.height or _HEIGHT
        drawn = json_block(json.loads(self.figure.to_json()) | {"config": _CONFIG})
        return _PAGE.format(place=place, height=height, drawn=drawn)


def picture(figure: go.Figure | Mapping[str, Any] | None, *, height: int | None = None) -> Picture:
    """Show a figure, as plotly or the report's charts make it.

    Args:
        figure: None says that there is nothing to draw.
        height: in pixels, in place of its own.
    """
    import plotly.graph_objects as go

    if figure is None:
        return Picture(None)
    made = go.Figure(figure)
    _numbers(made)
    top = made.layout.margin.t
    if top is not None and top < _BUTTONS:
        made.update_layout(
            margin={"t": _BUTTONS}, height=(made.layout.height or _HEIGHT) + _BUTTONS - top
        )
    return Picture(made.update_layout(height=height) if height is not None else made)


def _numbers(figure: go.Figure) -> None:
    """Take the look of times off each axis below that holds numbers.

    An axis to which the format of a time applies writes its numbers as plotly does by default.
    """
    for trace in figure.data:
        values = getattr(trace, "x", None)
        first = next((one for one in (() if values is None else values) if one is not None), None)
        if isinstance(first, Number):
            axis = "xaxis" + (trace.xaxis or "x")[1:]
            figure.update_layout({axis: {"hoverformat": ""}})
