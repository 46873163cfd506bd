"""What the widgets of this package share: lists of names, an area that shows things, a bundle.

Names in a list were chosen by others; what cannot be seen of them is written out, and the
list is one of text, in which no markup takes effect.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from forensics.shown import visible

if TYPE_CHECKING:
    import ipywidgets

UNKNOWN: Final = "(names none)"
_WIDTH: Final = "230px"


MOST: Final = 1_000
"""Names that a list holds; a browser gets slow with more."""


def several(name: str, values: Sequence[str | None]) -> ipywidgets.SelectMultiple:
    """Return a list of which several can be chosen; none stands for all of them."""
    import ipywidgets

    shown = values[:MOST]
    word = name if len(shown) == len(values) else f"{name}, {MOST:,} of {len(values):,}"
    layout = {"width": _WIDTH}
    rows = min(max(len(shown), 3), 6)
    listed = ipywidgets.SelectMultiple(options=options(shown), rows=rows, layout=layout)
    listed.tag = word
    return listed


def options(values: Iterable[str | None]) -> list[tuple[str, str | None]]:
    """Return what is listed for each value, and the value."""
    return [(UNKNOWN if value is None else visible(value), value) for value in values]


def titled(boxes: Iterable[Any]) -> ipywidgets.HBox:
    """Return lists beside each other, each under its name."""
    import ipywidgets

    columns = [ipywidgets.VBox([ipywidgets.Label(box.tag), box]) for box in boxes]
    return ipywidgets.HBox(columns, layout={"flex_flow": "row wrap"})


def slider(name: str, box: Any) -> list[Any]:
    """Return a slider beside its name and what it is set to; nothing where there is none."""
    import ipywidgets

    if box is None:
        return []
    first, last = ipywidgets.Label(), ipywidgets.Label()

    def told(_: Any = None) -> None:
        first.value, last.value = map(str, box.value)

    box.observe(told, "value")
    told()
    return [ipywidgets.HBox([ipywidgets.Label(name), first, box, last])]


def show(area: ipywidgets.Output, *parts: str) -> None:
    """Show pieces of HTML in an area, in place of what it showed."""
    area.outputs = tuple(
        {"output_type": "display_data", "metadata": {}, "data": {"text/html": part}}
        for part in parts
    )


def bundle(box: ipywidgets.Widget, text: str, markup: str, **kwargs: Any) -> dict[str, Any]:
    """Return a widget with what stands for it where there are no widgets: paper, an export."""
    made: dict[str, Any] = dict(box._repr_mimebundle_(**kwargs) or {})
    return made | {"text/plain": text, "text/html": markup}
