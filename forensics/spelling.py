"""One spelling of an identifier that some logs write with dashes and others without."""

from __future__ import annotations

import polars as pl

_IDS = ("request_id", "prefill_request_id")
_DASHED = r"^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
_DASHED_LENGTH, _BARE_LENGTH = 36, 32


def one_spelling(frame: pl.DataFrame) -> pl.DataFrame:
    """Write a UUID without dashes with them, where another record names it so.

    Where no record does, it stays as it was logged.
    """
    names = [name for name in _IDS if name in frame.columns]
    dashed = _dashed(frame, names)
    if not dashed.height:
        return frame
    return frame.with_columns(_spelt(frame[name], dashed) for name in names)


def _dashed(frame: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    found = [
        frame.select(dashed=pl.col(name))
        .filter(pl.col("dashed").str.len_bytes() == _DASHED_LENGTH)
        .filter(pl.col("dashed").str.contains(_DASHED))
        .unique()
        .with_columns(bare=pl.col("dashed").str.replace_all("-", "", literal=True))
        for name in names
    ]
    return pl.concat(found).unique()


def _spelt(ids: pl.Series, dashed: pl.DataFrame) -> pl.Series:
    bare = (ids.str.len_bytes() == _BARE_LENGTH).fill_null(value=False)
    if not bare.any():
        return ids
    known = ids.to_frame("bare").join(dashed, on="bare", how="left", maintain_order="left")
    return known["dashed"].fill_null(ids).alias(ids.name)
