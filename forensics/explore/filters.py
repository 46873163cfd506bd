"""Filters over the requests of a case; each choice prints the line of code that makes it."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

import polars as pl

from forensics.explore import views
from forensics.explore.choice import Choice
from forensics.explore.one import code
from forensics.explore.tabling import Shown, table
from forensics.schema import TIERS

if TYPE_CHECKING:
    from forensics.cards import Table

_TABLES = {
    "requests": "case.requests",
    "affected requests": "case.affected",
    "ruled out": "case.ruled_out",
    "not assessable": "case.not_assessable",
}


class Filters:
    """Lists of tiers, tenants, nodes and models and a window of days, above what they leave.

    Example:
        >>> chosen = filters(case.affected)
        >>> chosen.tier.value = ("probable",)
        >>> print(chosen.code)
        case.affected.polars().filter(pl.col("tier").is_in(["probable"]))
    """

    def __init__(self, rows: Table) -> None:
        import ipywidgets

        self._rows = rows
        frame = rows.polars()
        known = set(frame["tier"].unique())
        self.tier = views.several("tier", [name for name in TIERS if name in known])
        self.tenant = views.several("tenant", _by_number(frame["tenant_id"]))
        self.node = views.several("node", _nodes(frame))
        self.model = views.several("model", sorted(frame["model"].drop_nulls().unique()))
        self.window = _window(frame)
        self._line = ipywidgets.HTML()
        self._area = ipywidgets.Output()
        lists = views.titled((self.tier, self.tenant, self.node, self.model))
        parts = [lists, *views.slider("days (UTC)", self.window), self._line, self._area]
        self.widget = ipywidgets.VBox(parts)
        for box in (self.tier, self.tenant, self.node, self.model, self.window):
            if box is not None:
                box.observe(self._changed, "value")
        self._changed()

    @property
    def choice(self) -> Choice:
        """What is chosen."""
        since, until = self._days()
        tier, tenant, node, model = (
            tuple(box.value) for box in (self.tier, self.tenant, self.node, self.model)
        )
        return Choice(tier, tenant, node, model, since, until)

    @property
    def frame(self) -> pl.DataFrame:
        """The rows that the choice leaves."""
        return self.choice.of(self._rows.polars())

    @property
    def code(self) -> str:
        """The line of code that leaves the same rows."""
        return self.choice.code(_TABLES[self._rows.name])

    @property
    def table(self) -> Shown:
        """The rows that the choice leaves, to sort and search."""
        return table(self.frame, file=f"the line above; without a choice: {self._rows.held_by}")

    def _days(self) -> tuple[datetime | None, datetime | None]:
        if self.window is None:
            return None, None
        first, last = self.window.value
        days = [value for _, value in self.window.options]
        since = None if first == days[0] else _midnight(first)
        return since, None if last == days[-1] else _midnight(last + timedelta(days=1))

    def _changed(self, _: Any = None) -> None:
        self._line.value = code(self.code)
        views.show(self._area, self.table._repr_html_())

    def __repr__(self) -> str:
        return f"{self.code}\n{self.table}"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        markup = code(self.code) + self.table._repr_html_()
        return views.bundle(self.widget, repr(self), markup, **kwargs)


def filters(rows: Table) -> Filters:
    """Look around in a table of requests: choose, and see rows and the line that leaves them.

    Args:
        rows: ``case.requests``, ``case.affected``, ``case.ruled_out`` or
            ``case.not_assessable``.
    """
    return Filters(rows)


def _by_number(tenants: pl.Series) -> list[str | None]:
    """Return the tenants, those with most rows first."""
    counted = tenants.alias("tenant").value_counts()
    return counted.sort(["count", "tenant"], descending=[True, False])["tenant"].to_list()


def _nodes(frame: pl.DataFrame) -> list[str]:
    both = pl.concat([frame["prefill_node"], frame["decode_node"]])
    return sorted(both.drop_nulls().unique())


def _window(frame: pl.DataFrame) -> Any:
    """Return a slider over the days of the rows; None where there is one day or none."""
    import ipywidgets

    times = frame["received_at"].drop_nulls()
    first, last = times.dt.date().min(), times.dt.date().max()
    if not isinstance(first, date) or not isinstance(last, date) or first == last:
        return None
    days = [first + timedelta(days=n) for n in range((last - first).days + 1)]
    return ipywidgets.SelectionRangeSlider(
        options=[(day.isoformat(), day) for day in days],
        index=(0, len(days) - 1),
        readout=False,
        layout={"width": "520px"},
    )


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
