"""Identifiers in lines of text that may hold more than an identifier."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from forensics.sources.context import Context
from forensics.sources.parsed import Parsed
from forensics.sources.values import count_rejected, doubtful, unfit_id


def fit_ids(
    frame: pl.DataFrame, names: Sequence[str], context: Context, parsed: Parsed
) -> pl.DataFrame:
    """Name a request by its place where its id may hold more than an identifier.

    Args:
        frame: lines with ``line`` and some of the columns.
        names: columns that are identifiers of requests.
        context: the file, for the place.
        parsed: where rejected identifiers are counted.
    """
    for name in (name for name in names if name in frame.columns):
        if not frame.select(doubtful(pl.col(name), "id").any()).item():
            continue
        unfit = frame.select(unfit_id(pl.col(name)).fill_null(value=False)).to_series()
        if unfit.any():
            count_rejected(frame[name].filter(unfit).alias("request_id"), parsed.bad_values)
        places = [f"redacted:{context.where(line)}" for line in frame["line"].to_list()]
        # Copied: a view would keep the text of the id that may not be kept.
        own = pl.concat_str(name, pl.lit(""))
        stand_in = pl.Series("place", places, dtype=pl.String)
        frame = frame.with_columns(pl.when(unfit).then(stand_in).otherwise(own).alias(name))
    return frame
