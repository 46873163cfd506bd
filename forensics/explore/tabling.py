"""Tables to sort and search: how many of how many rows are shown, and what has them all.

Whatever stands in a cell was chosen by others: no markup takes effect, and characters that
cannot be seen are written out. The library lies in the notebook; nothing is fetched.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any, Final

import polars as pl
from msgspec import to_builtins

from forensics.anyframe import as_polars, eager
from forensics.cards import Table
from forensics.shown import visible

MOST: Final = 500
"""Rows that a page shows without becoming slow; what has all of them is named."""
_PAGE: Final = 10
_SETTINGS: Final[Mapping[str, Any]] = {
    "connected": False,
    "display_logo_when_loading": False,
    "maxBytes": 0,
    "maxRows": 0,
    "showIndex": False,
    "show_dtypes": False,
    # Else they come with a function as text, which a strict page does not run.
    "format_floats_in_python": False,
    "classes": "display compact nowrap",
    "style": "table-layout:auto;width:auto;margin:0",
    # What is read is wrapped; ids, names and numbers are not.
    "css": "td.forensics-prose { white-space: normal !important; min-width: 40em; }"
    " td.forensics-codes { white-space: normal !important; min-width: 18em; }",
}
_CODES: Final = ("reasons", "missing")
"""Lists of codes, which are wrapped between two of them."""
_FIRST: Final = (
    "tier",
    "reasons",
    "missing",
    "tenant_id",
    "received_at",
    "prompt_tokens",
    "input_limit_tokens",
    "completion_tokens",
    "request_id",
)
"""What is asked first of a judged request: a page is less wide than its table."""
_STAMP: Final = r"^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(\.\d{6})Z$"
"""A time as the document writes it."""
_DECIMALS: Final = 4
_NARROW: Final = 24
"""Characters up to which a list of codes needs no width of its own."""
_LONG: Final = 70
"""Characters from which a text takes several lines."""
_WIDE: Final = "<p style='margin:6px 0'>{caption}</p><div style='overflow-x:auto'>{made}</div>"


class Shown:
    """A table as a notebook shows it: a caption, and rows to sort and search."""

    def __init__(self, frame: pl.DataFrame, caption: str) -> None:
        self.frame = frame
        self.caption = caption

    def __repr__(self) -> str:
        return f"{self.caption}\n{self.frame}"

    def _repr_html_(self) -> str:
        from itables import to_html_datatable

        few = self.frame.height <= _PAGE
        bare = dict.fromkeys(("topStart", "topEnd", "bottomStart", "bottomEnd"))
        more = {"layout": bare} if few else {}
        made = to_html_datatable(self.frame, columnDefs=self._columns(), **_SETTINGS, **more)
        return _WIDE.format(caption=html.escape(self.caption), made=made)

    def _columns(self) -> list[dict[str, Any]]:
        """Return how each column is set: all to the left, those of prose and codes wrapped."""
        names = self.frame.columns
        text = [name for name, kind in self.frame.schema.items() if kind == pl.String]
        longest = self.frame.select(pl.col(text).str.len_chars().max()).row(0) if text else ()
        most = dict(zip(text, longest, strict=True))
        long = {name for name in text if (most[name] or 0) > _LONG}
        codes = [names.index(name) for name in _CODES if (most.get(name) or 0) > _NARROW]
        prose = [names.index(name) for name in names if name in long - set(_CODES)]
        kinds = (("forensics-codes", codes), ("forensics-prose", prose))
        every = {"targets": "_all", "className": "dt-left", "defaultContent": "–"}
        set_apart = [{"targets": at, "className": f"dt-left {name}"} for name, at in kinds if at]
        return [*set_apart, every]


def table(
    rows: Any, *, columns: Sequence[str] = (), most: int = MOST, file: str | None = None
) -> Shown:
    """Show a table of the case, a list of its document, or any frame, to sort and search.

    Args:
        rows: a table of the case, a frame of any kind that narwhals knows, or a list of
            dictionaries or of the document's rows.
        columns: which of its columns are shown, in this order; where none is named, all, of
            judged requests the verdict with what it rests on first.
        most: how many rows are shown, the first of them.
        file: what holds all of them; a table of the case knows its own.

    Returns:
        What a notebook shows as a table, under how many of how many rows it has.

    Example:
        >>> table([{"tenant_id": "team-a", "requests": 2}]).caption
        '1 of 1 row'
    """
    whole = _frame(rows, columns)
    place = file or (rows.held_by if isinstance(rows, Table) else None)
    name = f"{rows.name}: " if isinstance(rows, Table) else ""
    return Shown(_readable(whole.head(most)), name + _caption(whole.height, most, place))


def _caption(height: int, most: int, place: str | None) -> str:
    noun = "row" if height == 1 else "rows"
    shown = f"{min(height, most):,} of {height:,} {noun}"
    return shown if place is None else f"{shown}; all of them: {place}"


def _frame(rows: Any, columns: Sequence[str]) -> pl.DataFrame:
    """Return the rows with the columns that are shown; those of an empty list are null."""
    if isinstance(rows, list | tuple):
        listed = pl.DataFrame(to_builtins(rows), infer_schema_length=None)
        whole = listed if listed.columns else pl.DataFrame(schema=list(columns))
    elif isinstance(rows, Table):
        whole = rows.polars()
    else:
        whole = as_polars(eager(rows))
    return whole.select(columns or _ordered(whole.columns))


def _ordered(names: Sequence[str]) -> Sequence[str]:
    if not {"tier", "reasons", "request_id"} <= set(names):
        return names
    first = [name for name in _FIRST if name in names]
    return [*first, *(name for name in names if name not in first)]


def _readable(frame: pl.DataFrame) -> pl.DataFrame:
    """Write each cell as text that shows what it is, but numbers, which sort as numbers."""
    return frame.select(_column(frame[name]) for name in frame.columns)


def _column(column: pl.Series) -> pl.Series:
    name, kind = visible(column.name), column.dtype
    if column.name in _CODES and kind == pl.String:
        column = column.str.replace_all(";", "; ", literal=True)
    if kind.is_numeric():
        return (column.round(_DECIMALS) if kind.is_float() else column).alias(name)
    return pl.Series(name, [_cell(value) for value in _plain(column)], dtype=pl.String)


def _plain(column: pl.Series) -> list[Any]:
    """Return the values; times in UTC, and whole seconds without a fraction."""
    if column.dtype == pl.String:
        whole = bool(column.str.extract(_STAMP, 3).drop_nulls().eq(".000000").all())
        return column.str.replace(_STAMP, f"${{1}} ${{2}}{'' if whole else '${3}'} UTC").to_list()
    if not isinstance(column.dtype, pl.Datetime):
        return column.to_list()
    whole = not (column.dt.microsecond() != 0).any()
    return column.dt.to_string(f"%Y-%m-%d %H:%M:%S{'' if whole else '%.6f'} UTC").to_list()


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return "; ".join(map(_cell, value))
    if isinstance(value, dict):
        # Rows of one column share their keys: what only other rows have is no part of this one.
        told = {visible(str(key)): _cell(held) for key, held in value.items() if held is not None}
        return "; ".join(f"{key}: {text}" for key, text in told.items()) or "–"
    return visible(str(value))
