"""What a table of the report is: its columns, where its rows are, and what stands for none.

No table shows more than :data:`SHOWN` rows; its caption says how many there are and which
file has them all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from forensics.exposure import Exposure

SHOWN: Final = 200


@dataclass(frozen=True)
class Column:
    """A column: its header with the unit, the field it shows, how its cells are written."""

    title: str
    field: str
    kind: str = "text"
    below: bool = False
    """On the page it stands under its row, over all others: beside them it would leave no room."""


@dataclass(frozen=True)
class Table:
    """What the table macro needs."""

    name: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]
    total: int
    file: str
    empty: str


@dataclass(frozen=True)
class Spec:
    """One table: where its rows are in the document, and what is said where there are none."""

    name: str
    caption: str
    rows: Callable[[Exposure], Sequence[Any]]
    columns: tuple[Column, ...]
    file: str = "report.json"
    empty: str = "None found."

    def table(self, exposure: Exposure) -> Table:
        """Return the table of one document."""
        rows = self.rows(exposure)
        fields = [column.field for column in self.columns]
        cells = tuple(tuple(getattr(row, field) for field in fields) for row in rows[:SHOWN])
        return Table(self.name, self.caption, self.columns, cells, len(rows), self.file, self.empty)


def count(title: str, field: str) -> Column:
    """Return a column of whole numbers."""
    return Column(title, field, "count")
