"""Partitions of an evidence set, some at a time: to counts, rows that are kept, and identifiers.

Pure functions of their shard, which run wherever a runner calls them. Only columns that say
whether a row matters are read of all rows. Rows and identifiers go to files in a private folder.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

import numpy as np
import numpy.typing as npt
import polars as pl

from forensics.columns import DTYPES
from forensics.sources.ledger import Rows
from forensics.sources.reading import Progress, nothing, write_part
from forensics.sources.reread import checked
from forensics.timing.bins import Integers
from forensics.triage import counts
from forensics.triage.keys import Stored, hashes
from forensics.triage.quiet import NEEDED, ODD, PROMPT, QUIET
from forensics.triage.times import TIMED, Basis

IDS = ("request_id", "transfer_id")
FETCHED = ("received_at", "prefill_node", "tenant_id", "prompt_tokens", "decode_prompt_tokens")
"""What is asked of a counted row whose time is out of the ordinary."""


@dataclass(frozen=True)
class Shard:
    """Some partitions of one input, and where what is kept of them goes.

    ``columns`` are those that the readers of the input filled; ``number`` is its own in this run;
    ``least`` the prompt length, in tokens, from which on rows are kept; ``basis`` says what
    their times can be compared with, None where they are not asked for. ``state`` is what an
    ingest left beside the partitions.
    """

    set: Path
    files: tuple[Rows, ...]
    columns: tuple[str, ...]
    number: int
    scratch: Path
    least: int
    basis: Basis | None = None
    state: Rows | None = None

    @property
    def name(self) -> str:
        """Name of the first partition."""
        return self.files[0].name

    @property
    def size(self) -> int:
        """Bytes of the partitions."""
        return sum(item.bytes for item in self.files)

    @property
    def read(self) -> int:
        """Bytes that are read of it at first: of the partitions, or of their state."""
        return self.size if self.state is None else self.state.bytes

    def data(self) -> list[bytes]:
        """Return the bytes of the partitions, held against their hashes."""
        return [self.partition(number) for number in range(len(self.files))]

    def partition(self, number: int) -> bytes:
        """Return the bytes of one of them."""
        item = self.files[number]
        return checked(self.set, item.name, item.sha256)


@dataclass(frozen=True)
class Left:
    """The rows of a shard that were counted: how many, which they are, and their times."""

    rows: int
    mask: Path
    times: Path | None

    def places(self) -> npt.NDArray[np.int64]:
        """Return where they stand in the shard."""
        return np.flatnonzero(np.unpackbits(np.load(self.mask)))


@dataclass(frozen=True)
class Found:
    """What a shard holds: counts of quiet rows, files of the others, and how many are odd.

    ``ids`` are sorted hashes, one for each of :data:`IDS`; ``left`` is of the rows that
    were counted.
    """

    counts: pl.DataFrame
    kept: tuple[Path, ...] = ()
    ids: tuple[Stored, ...] = ()
    left: Left | None = None
    odd: int = 0


_TIMED_TOO = tuple(dict.fromkeys((*NEEDED, *TIMED)))


def look(shard: Shard, progress: Progress = nothing) -> Found:
    """Count the quiet rows of a shard, and keep the others whole."""
    data = shard.data()
    rows = needed(shard, data)
    quiet = counted(rows, shard.least)
    made = shard.scratch / token_hex(8)
    ids = tuple(Stored.write(made.with_suffix(f".{n}"), hashes(rows[n])) for n in IDS)
    found = Found(
        counts.count(rows, quiet),
        keep(shard, data, rows, ~quiet),
        ids,
        left(shard, rows, quiet) if shard.basis is not None else None,
        int(rows.select(ODD.sum()).item()),
    )
    progress(shard.size, rows.height)
    return found


def needed(shard: Shard, data: list[bytes]) -> pl.DataFrame:
    """Return the columns that say whether a row matters; those that nobody filled are null."""
    names = NEEDED if shard.basis is None else _TIMED_TOO
    wanted = [name for name in names if name in shard.columns]
    rows = pl.scan_parquet(data).select(wanted).collect()
    absent = [name for name in names if name not in wanted]
    return rows.with_columns(pl.lit(None, dtype=DTYPES[name]).alias(name) for name in absent)


def counted(rows: pl.DataFrame, least: int) -> pl.Series:
    """Say which rows are counted and not kept.

    One row of each node is kept: which nodes there are is asked of the rows that are.
    """
    first = pl.col("prefill_node").is_first_distinct()
    quiet = (QUIET & PROMPT.lt(least)).fill_null(value=False)
    return rows.select(quiet & ~first).to_series()


def keep(
    shard: Shard, data: list[bytes], rows: pl.DataFrame, wanted: pl.Series
) -> tuple[Path, ...]:
    """Write the wanted rows of a shard, of which some columns are read, as a part."""
    if not wanted.any():
        return ()
    further = [name for name in shard.columns if name not in ("file", *rows.columns)]
    places = np.flatnonzero(wanted.to_numpy())
    more = _picked(shard, further, places, data.__getitem__)
    return part(shard, rows[places].hstack(more))


def _picked(
    shard: Shard, columns: list[str], places: Integers, data: Callable[[int], bytes]
) -> pl.DataFrame:
    """Return some columns of single rows; of a partition without any, nothing is decoded.

    Args:
        shard: of whose rows.
        columns: which.
        places: of the rows in the shard, sorted.
        data: gives the bytes of a partition by its number.
    """
    ends = np.cumsum([item.rows for item in shard.files])
    owner = np.searchsorted(ends, places, side="right")
    found = [pl.DataFrame()]
    for number in np.unique(owner).tolist() if columns else []:
        own = places[owner == number] - (ends[number] - shard.files[number].rows)
        found.append(pl.scan_parquet(data(number)).select(columns).collect()[own])
    return pl.concat(found[1:] or found)


def part(shard: Shard, rows: pl.DataFrame) -> tuple[Path, ...]:
    """Write whole rows of a shard as a part of the reading pass."""
    path = shard.scratch / f"{token_hex(8)}.parquet"
    rows = rows.with_columns(file=pl.lit(shard.number, dtype=pl.Int32))
    write_part(path, rows.select(shard.columns))
    return (path,)


def left(shard: Shard, rows: pl.DataFrame, counted: pl.Series) -> Left:
    """Write down which rows of a shard were counted, and their times."""
    made = shard.scratch / token_hex(8)
    mask = made.with_suffix(".mask.npy")
    np.save(mask, np.packbits(counted.to_numpy()))
    times = None
    if shard.basis is not None and "prefill_ms" in shard.columns:
        times = shard.basis.save(rows.filter(counted).select(TIMED), made.with_suffix(".times"))
    return Left(int(counted.sum()), mask, times)


def fetch(shard: Shard, held: Left, places: Integers) -> pl.DataFrame:
    """Return single rows among those that were counted, under :data:`FETCHED`."""
    wanted = [name for name in FETCHED if name in shard.columns]
    rows = _picked(shard, wanted, held.places()[places], shard.partition)
    absent = [name for name in FETCHED if name not in wanted]
    return rows.with_columns(pl.lit(None, dtype=DTYPES[name]).alias(name) for name in absent)
