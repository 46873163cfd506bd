"""The model of a record that has several names for it: an alias, and what it stands for."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from forensics.sources.values import first_value


def named(columns: Sequence[pl.Series], scope: Sequence[str]) -> pl.Series:
    """Return the first name of each row that the case is about, else its first name.

    A request is out of scope only where none of its names is in it.

    Args:
        columns: names as text, the model that was asked for before what served it.
        scope: models of the incident; none where it is about all.
    """
    if not scope or len(columns) == 1:
        return first_value(columns)
    wanted = pl.Series(sorted(scope))
    inside = [
        column.zip_with(column.is_in(wanted.implode()), pl.Series([None], dtype=pl.String))
        for column in (column.cast(pl.String) for column in columns)
    ]
    return first_value([*inside, *columns])


def first_of(texts: Sequence[str], scope: Sequence[str]) -> str | None:
    """Return the first text that the case is about, else the first one."""
    return next((text for text in texts if text in scope), next(iter(texts), None))
