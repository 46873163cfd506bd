"""Rows of one input to Parquet files by day and node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from forensics.encode import parquet_pieces
from forensics.sources.layout import KINDS, Kind, folder, places
from forensics.sources.reading import Reading
from forensics.sources.reread import renamed

ROWS = 524_288
"""Rows that are parted at a time at the most, wherever they go."""
FEWEST, EACH = 65_536, 16_384
"""Rows that are parted at a time at the least, and for each day and node that there are rows of.

Those of one node are large files in small pieces: memory stays what it was for a small log. Those
of many nodes and days are parted in larger ones, so that files do not get small.
"""

Columns = dict[str, tuple[str, ...]]


def columns_of(reading: Reading) -> Columns:
    """Return per kind of rows the columns that the readers filled, in order."""
    found: Columns = {}
    for name in KINDS:
        names: dict[str, None] = {}
        for columns in _headers(reading, name):
            names |= dict.fromkeys(columns)
        if names:
            found[name] = tuple(names)
    return found


def _headers(reading: Reading, kind: str) -> Iterator[list[str]]:
    if kind == "observations":
        for part in sorted(reading.parts):
            yield list(pl.read_parquet_schema(part))
    else:
        for frame in getattr(reading, kind):
            yield frame.columns


def files(reading: Reading, key: str, token: str) -> Iterator[tuple[str, pl.DataFrame, bytes]]:
    """Yield path, rows and bytes of each file of an input.

    Args:
        reading: the reading pass of this input alone.
        key: the input's key, which its files are named after.
        token: how rows without an identifier name the file; the key takes its place.

    Raises:
        PrivacyError: rows hold what their table may not hold.
    """
    number = 0
    for kind in KINDS.values():
        for frames in _together(reading, kind):
            named = renamed(_typed(frames, kind), token, key)
            pieces = parquet_pieces(named, kind.table, places(named, kind))
            del named
            for where, own, data in pieces:
                yield f"{kind.name}/{folder(*where)}/{key}-{number}.parquet", own, data
                number += 1


def _together(reading: Reading, kind: Kind) -> Iterator[list[pl.DataFrame]]:
    """Yield rows of a kind, so many at a time; who takes them empties the list."""
    if kind.name != "observations":
        frames = getattr(reading, kind.name)
        if frames:
            yield list(frames)
        return
    held: list[pl.DataFrame] = []
    where: set[tuple[str, ...]] = set()
    for part in sorted(reading.parts):
        held.append(pl.read_parquet(part))
        where.update(places(held[-1], kind).unique().iter_rows())
        if sum(frame.height for frame in held) >= min(ROWS, max(FEWEST, EACH * len(where))):
            yield held
            held, where = [], set()
    if held:
        yield held


def _typed(frames: list[pl.DataFrame], kind: Kind) -> pl.DataFrame:
    """Return rows as one frame whose columns have a type, in the order of the table."""
    rows = pl.concat(frames, how="diagonal_relaxed", rechunk=True).drop("file", strict=False)
    frames.clear()
    untyped = [pl.col(name).cast(kind.table.dtypes[name]) for name in _untyped(rows, kind)]
    known = [name for name in kind.table.dtypes if name in rows.columns]
    extra = [name for name in rows.columns if name not in kind.table.dtypes]
    return rows.with_columns(untyped).select(*known, *extra)


def _untyped(rows: pl.DataFrame, kind: Kind) -> Sequence[str]:
    return [n for n, t in rows.schema.items() if t == pl.Null and n in kind.table.dtypes]
