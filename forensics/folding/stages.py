"""All records to requests: linked and settled in buckets, what is left between the two at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import polars as pl

from forensics import requests, runners, skew
from forensics.attribution import places
from forensics.clock import Clocks
from forensics.folding.held import NUMBERED, NUMBERS, Held
from forensics.folding.kept import Kept
from forensics.folding.linked import Bucket, Linked, link
from forensics.folding.opened import Opened, opened
from forensics.folding.settled import ROWS, Folded, Settled, settle
from forensics.folding.slim import slim, wanted
from forensics.folding.spread import Records, spread
from forensics.requests import Requests
from forensics.runners.work import Stage
from forensics.spill import spill


def fold(
    parts: Sequence[Path],
    clocks: Clocks,
    roles: pl.DataFrame,
    folder: Path,
    *,
    named: bool,
    rows: int | None = None,
) -> Requests:
    """Return the requests of all records.

    Args:
        parts: of the reading pass.
        clocks: zone of each node's wall clock.
        roles: capacity epochs, for ``node`` and ``role``.
        folder: a private folder, which has to last as long as records are asked for.
        named: records are to keep their ids.
        rows: how many records make a bucket, about.
    """
    linked = _linked(spread(parts, folder, rows), parts, clocks, roles, folder)
    numbers, files = _numbers(linked, folder)
    open_ = opened(linked, numbers, folder)
    del numbers
    apart = [one.apart for one in linked]
    pairs = skew.measure(apart)
    off = pairs if open_.earlier and skew.far(pairs).height else None
    held = [*_held(linked, files, open_), *open_.held]
    shards = [
        Settled(number, one, off, open_.left, named, folder) for number, one in enumerate(held)
    ]
    folded = _run(settle, shards)
    if off is not None:
        pairs = skew.measure([one.apart for one in folded if one.apart is not None])
    records = Kept(tuple(one.records for one in folded), wanted(named=named))
    logged = records.without(requests.doubles(open_.unsettled))
    logged = logged.beside(_aside(open_, folder, named=named))
    return _together(linked, folded, open_, pairs, held, records, logged)


WorkT = TypeVar("WorkT", Bucket, Settled)
StateT = TypeVar("StateT", Linked, Folded)


def _run(stage: Stage[WorkT, StateT], shards: list[WorkT]) -> list[StateT]:
    runner = runners.choose(None, 0, len(shards), movable=True, native=True)
    return runners.run(runner, stage, shards)


def _linked(
    held: Sequence[Records],
    parts: Sequence[Path],
    clocks: Clocks,
    roles: pl.DataFrame,
    folder: Path,
) -> list[Linked]:
    columns = tuple(dict.fromkeys(name for part in parts for name in pl.read_parquet_schema(part)))
    buckets = [
        Bucket(number, records, columns, clocks, roles, folder)
        for number, records in enumerate(held)
    ]
    linked = _run(link, buckets)
    _remove(part for records in held if records.own for part in records.parts)
    return linked


def _numbers(linked: Sequence[Linked], folder: Path) -> tuple[pl.DataFrame, list[Path]]:
    """Number the hand-offs in the order of their keys; as text they would be a tenth of all memory.

    Returns:
        ``handoff`` and ``number`` of all, and a file of each bucket's.
    """
    found = [pl.DataFrame(schema={"handoff": pl.String, "bucket": pl.UInt32})]
    for at, one in enumerate(linked):
        for path in one.files.values():
            keys = pl.read_parquet(path, columns=["handoff"]).unique()
            found.append(keys.with_columns(bucket=pl.lit(at, dtype=pl.UInt32)))
    number = pl.col("handoff").rank("dense").cast(pl.UInt32)
    every = pl.concat(found).with_columns(number=number)
    files = [folder / f"numbers-{at:06d}.parquet" for at in range(len(linked))]
    for at, path in enumerate(files):
        spill(path, every.filter(pl.col("bucket") == at).drop("bucket"), NUMBERS)
    return every.drop("bucket"), files


def _held(linked: Sequence[Linked], numbers: Sequence[Path], open_: Opened) -> Iterator[Held]:
    """Yield the records of each bucket that were not settled together."""
    for one, own in zip(linked, numbers, strict=True):
        files = [path for kind, path in one.files.items() if kind not in open_.kinds]
        if files:
            yield Held(tuple(files), own, open_.apart)


def _together(
    linked: Sequence[Linked],
    folded: Sequence[Folded],
    open_: Opened,
    pairs: pl.DataFrame,
    held: Sequence[Held],
    records: Kept,
    logged: Kept,
) -> Requests:
    """Put the requests of all hand-offs together."""
    return Requests(
        frame=_frame(folded),
        records=records,
        logged=logged,
        unpaired=open_.aside.height,
        stood_for=open_.beside["handoff"].n_unique(),
        unsettled=open_.unsettled,
        within=pl.concat([one.within for one in folded]).unique().sort(),
        doubled=pl.concat([one.doubled for one in linked], how="diagonal_relaxed"),
        probes=dict(sum((Counter(one.probes) for one in linked), Counter())),
        probed=pl.concat([one.probed for one in linked], how="diagonal_relaxed"),
        orphans=pl.concat([one.orphans for one in linked]).sort(),
        clock_pairs=pairs,
        assumed=frozenset().union(*(one.assumed for one in linked)),
        unsure=pl.concat([one.unsure for one in folded]).unique(),
        behind=partial(_behind, held),
    )


def _aside(open_: Opened, folder: Path, *, named: bool) -> Path | None:
    """Write the records that were set aside to a file, if there are any."""
    rows = pl.concat([open_.aside, open_.beside], how="diagonal_relaxed")
    if not rows.height:
        return None
    path = folder / "aside.parquet"
    spill(path, slim(rows, named=named), NUMBERED)
    return path


def _frame(folded: Sequence[Folded]) -> pl.DataFrame:
    """Put all rows together, in the order of their attempts."""
    paths = [one.rows for one in folded]
    pieces = [pl.read_parquet(path) for path in paths]
    _remove(paths)
    times = [one.times for one in folded if one.times is not None]
    keys = pl.concat([piece.select(requests.KEYS) for piece in pieces])
    tried = requests.attempts(keys, pl.concat(times) if times else None)
    columns = []
    for name in dict.fromkeys(name for piece in pieces for name in piece.columns):
        # One by one, and gone from the pieces: all of them twice would be the peak of a run.
        own = [piece.get_column(name, default=_untold(name, piece.height)) for piece in pieces]
        columns.append(pl.concat(own, rechunk=True).gather(tried["_row"]))
        pieces = [piece.drop(name, strict=False) for piece in pieces]
    rows = places.attach(pl.DataFrame(columns), pl.concat([one.others for one in folded]))
    return rows.with_columns(tried["attempt"])


def _untold(name: str, height: int) -> pl.Series:
    return pl.repeat(None, height, dtype=ROWS.dtypes[name], eager=True).alias(name)


def _behind(held: Sequence[Held], handoffs: pl.Series) -> pl.DataFrame:
    """Return the records of some hand-offs, with all their columns."""
    return pl.concat([one.read(handoffs) for one in held], how="diagonal_relaxed")


def _remove(files: Iterable[Path]) -> None:
    for file in files:
        file.unlink(missing_ok=True)
