"""What a notebook shows: a card for the case, and tables that convert to any frame."""

from __future__ import annotations

import html
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from forensics.exposure import Exposure

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

SHOWN = 10


class Table:
    """One table of the case; rows are made when first asked for."""

    def __init__(self, name: str, make: Callable[[], pl.DataFrame]) -> None:
        self.name = name
        self._make = make

    @cached_property
    def _frame(self) -> pl.DataFrame:
        return self._make()

    def polars(self) -> pl.DataFrame:
        """Return a Polars data frame."""
        return self._frame

    def pandas(self) -> pd.DataFrame:
        """Return a pandas data frame with Arrow-backed columns, so that ids and nulls survive."""
        import pandas as pd

        frame: pd.DataFrame = self._frame.to_arrow().to_pandas(types_mapper=pd.ArrowDtype)
        return frame

    def arrow(self) -> pa.Table:
        """Return an Arrow table."""
        return self._frame.to_arrow()

    def __len__(self) -> int:
        return self._frame.height

    def __repr__(self) -> str:
        shown = min(SHOWN, len(self))
        with pl.Config(tbl_rows=SHOWN, tbl_hide_dataframe_shape=True):
            return f"{self.name}: {shown} of {len(self):,} rows\n{self._frame.head(SHOWN)}"

    def _repr_html_(self) -> str:
        shown = min(SHOWN, len(self))
        title = html.escape(f"{self.name}: {shown} of {len(self):,} rows")
        with pl.Config(tbl_rows=SHOWN, tbl_cols=-1, tbl_hide_dataframe_shape=True):
            body = self._frame.head(SHOWN)._repr_html_()
        return f"<p><strong>{title}</strong></p>{body}"


def lines(exposure: Exposure) -> list[tuple[str, str]]:
    """Return the card's rows: what is asked first, and the answer."""
    head = exposure.headline
    tiers = ", ".join(f"{t.requests:,} {t.tier.replace('_', ' ')}" for t in head.tiers)
    found = [
        ("case", f"{exposure.case.id} {exposure.case.title}".strip()),
        ("found", head.sentence),
        ("requests", tiers),
        (
            "recipients",
            f"{head.recipients:,} tenants; {head.recipients_unknown_tenant:,} responses name none",
        ),
        (
            "sources",
            f"{head.sources:,} tenants shared a decode rank with an affected response before it",
        ),
        ("first, last", f"{head.first_affected_at or 'none'}, {head.last_affected_at or 'none'}"),
        ("ongoing", f"{head.ongoing.answer}: {head.ongoing.sentence}"),
        ("bound", head.bound.sentence),
    ]
    return found + [("incomplete", flag) for flag in head.incomplete]


def card(exposure: Exposure) -> str:
    """Return the card as text."""
    rows = lines(exposure)
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {text}" for name, text in rows)


def card_html(exposure: Exposure) -> str:
    """Return the card as HTML; names of tenants and cases are escaped."""
    body = "".join(
        f"<tr><th style='text-align:left;vertical-align:top'>{html.escape(name)}</th>"
        f"<td style='text-align:left'>{html.escape(text)}</td></tr>"
        for name, text in lines(exposure)
    )
    return f"<table>{body}</table>"
