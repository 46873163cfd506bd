"""What a notebook shows: a card for the case, and tables that convert to any frame."""

from __future__ import annotations

import html
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from forensics.exposure import Exposure
from forensics.wording import count

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

SHOWN = 10

_HELD_BY = {
    "requests": "case.requests, which no file of a report holds whole",
    "affected requests": "affected_requests.parquet",
    "ruled out": "ruled_out.parquet",
    "not assessable": "not_assessable.parquet",
    "tenants": "affected_tenants.parquet",
    "possible sources": "source_pairs.parquet",
    "capacity epochs": "capacity.csv",
    "prefill time": "case.timing, which no file of a report holds",
    "odd prefill times": "case.odd_times, which no file of a report holds",
    "timing clusters": "timing_clusters.csv",
    "coverage": "coverage.csv",
    "unreadable": "unreadable.csv",
}
"""By the name of a table, which file of a report has all of its rows."""


class Table:
    """One table of the case; rows are made when first asked for.

    Example:
        >>> import forensics
        >>> sample = "data/samples/session-slots"
        >>> case = forensics.read_logs(f"{sample}/logs", incident=f"{sample}/incident.toml")
        >>> case.affected.polars()["tier"].unique().to_list()
        ['probable']
        >>> len(case.affected) == case.affected.arrow().num_rows == len(case.affected.pandas())
        True
    """

    def __init__(self, name: str, make: Callable[[], pl.DataFrame]) -> None:
        self.name = name
        self._make = make

    @cached_property
    def _frame(self) -> pl.DataFrame:
        return self._make()

    @property
    def held_by(self) -> str:
        """Which file of a report has all rows, or what else does."""
        return _HELD_BY[self.name]

    def polars(self) -> pl.DataFrame:
        """Return a Polars data frame.

        Example:
            >>> import polars as pl
            >>> Table("ids", lambda: pl.DataFrame({"a": [1, 2]})).polars().height
            2
        """
        return self._frame

    def pandas(self) -> pd.DataFrame:
        """Return a pandas data frame with Arrow-backed columns, so that ids and nulls survive.

        Example:
            >>> import polars as pl
            >>> rows = Table("ids", lambda: pl.DataFrame({"transfer": [2**62 + 1, None]}))
            >>> rows.pandas()["transfer"].tolist()
            [4611686018427387905, <NA>]
        """
        import pandas as pd

        frame: pd.DataFrame = self._frame.to_arrow().to_pandas(types_mapper=pd.ArrowDtype)
        return frame

    def arrow(self) -> pa.Table:
        """Return an Arrow table.

        Example:
            >>> import polars as pl
            >>> Table("ids", lambda: pl.DataFrame({"a": [1, 2]})).arrow().column_names
            ['a']
        """
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
    from forensics.report.theme import populations  # reads the texts of a report

    head, who = exposure.headline, populations(exposure.scope.mechanism)
    nameless = count(head.recipients_unknown_tenant, "response")
    tiers = ", ".join(f"{t.requests:,} {t.tier.replace('_', ' ')}" for t in head.tiers)
    found = [
        ("case", f"{exposure.case.id} {exposure.case.title}".strip()),
        ("found", head.sentence),
        ("requests", tiers),
        ("recipients", f"{count(head.recipients, 'tenant')}; {nameless} without a tenant"),
        (
            "sources",
            f"{head.sources:,} {who['sources']}",
        ),
        ("first, last", f"{head.first_affected_at or 'none'}, {head.last_affected_at or 'none'}"),
        ("ongoing", f"{head.ongoing.answer}: {head.ongoing.sentence}"),
        ("bound", head.bound.sentence),
    ]
    return found + [("incomplete", flag) for flag in head.incomplete]


def card(exposure: Exposure) -> str:
    """Return the card as text.

    Example:
        >>> print(card(case.exposure()))  # doctest: +ELLIPSIS
        case         ...
        found        ... affected responses ...
    """
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
