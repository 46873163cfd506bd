"""Records in buckets: what shares an identifier, over whatever others, lies in one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from forensics import runners
from forensics.columns import ensure
from forensics.schema import ENGINE_HOP
from forensics.sources.layout import PART
from forensics.sources.reading import Progress, nothing
from forensics.spill import spill

ROWS = 262_144
"""Records of a bucket, about: some hundred bytes of memory each, several times."""
_IDS = ("transfer_id", "request_id", "prefill_request_id")
_ROUNDS = 16
"""How long a chain of identifiers may be; longer ones are few, or their ids tell nothing apart."""
_UUID_LENGTH = 36


@dataclass(frozen=True)
class Records:
    """Parts that hold all records of a bucket; how many there are, and in all before it."""

    parts: tuple[Path, ...]
    rows: int
    before: int
    own: bool
    """The parts are copies, and are removed when they were read."""


@dataclass(frozen=True)
class Slice:
    """Some parts, the number of the bucket of each of their records, and where copies go."""

    number: int
    parts: tuple[Path, ...]
    buckets: pl.Series
    folder: Path

    @property
    def name(self) -> str:
        """What an error calls it."""
        return "records of requests"

    @property
    def size(self) -> int:
        """Bytes of the parts."""
        return sum(part.stat().st_size for part in self.parts)


def spread(parts: Sequence[Path], folder: Path, rows: int | None = None) -> list[Records]:
    """Return all records in buckets; where they are few, in one, as they lie.

    Args:
        parts: of the reading pass.
        folder: the private folder of the run.
        rows: how many records make a bucket, about.
    """
    parts = sorted(parts)
    heights = [pl.read_parquet(part, columns=["file"]).height for part in parts]
    count = -(-sum(heights) // (rows or ROWS))
    buckets = _buckets(parts, count) if count > 1 else None
    if buckets is None:
        return [Records(tuple(parts), sum(heights), 0, own=False)]
    slices = list(_slices(parts, heights, buckets, folder))
    runner = runners.choose(None, 0, len(slices), movable=True, native=True)
    copies: dict[int, list[Path]] = {}
    for found in runners.run(runner, copy, slices):
        for bucket, path in found.items():
            copies.setdefault(bucket, []).append(path)
    sizes = dict(buckets.value_counts(name="rows").iter_rows())
    held, before = [], 0
    for bucket in sorted(copies):
        held.append(Records(tuple(copies[bucket]), sizes[bucket], before, own=True))
        before += sizes[bucket]
    return held


def _buckets(parts: Sequence[Path], count: int) -> pl.Series | None:
    """Return the bucket of each record; None where they cannot be parted.

    A side that no record states is told by all records of a server. Records without any
    identifier are told apart by their values: all lie in one bucket.
    """
    ids = [_ids(part) for part in parts]
    if any(one is None for one in ids):
        return None
    rows = pl.concat([one for one in ids if one is not None])
    label = pl.coalesce(_IDS)
    rows = rows.with_columns(label=label)
    for _ in range(_ROUNDS):
        before = rows["label"]
        for name in _IDS:
            if rows[name].null_count() < rows.height:
                least = pl.col("label").min().over(name)
                rows = rows.with_columns(
                    label=pl.when(pl.col(name).is_null()).then("label").otherwise(least)
                )
        if rows["label"].equals(before):
            return rows.select((pl.col("label") % count).fill_null(0).cast(pl.UInt32)).to_series()
    return None


def _ids(part: Path) -> pl.DataFrame | None:
    """Return hashes of the identifiers of a part, by one spelling; None if a side is open."""
    known = pl.read_parquet_schema(part)
    rows = ensure(
        pl.read_parquet(part, columns=[n for n in (*_IDS, "hop") if n in known]), [*_IDS, "hop"]
    )
    if (rows["hop"] == ENGINE_HOP).any():
        return None
    return rows.select(_hashed(name) for name in _IDS)


def _hashed(name: str) -> pl.Expr:
    text = pl.col(name).cast(pl.String)
    uuid = text.str.len_bytes() == _UUID_LENGTH
    bare = pl.when(uuid).then(text.str.replace_all("-", "", literal=True)).otherwise(text)
    # A hand-off's id is no request's, though both may be the same number.
    seed = int(name == "transfer_id")
    return pl.when(text.is_not_null()).then(bare.hash(seed)).alias(name)


def _slices(
    parts: Sequence[Path], heights: Sequence[int], buckets: pl.Series, folder: Path
) -> Iterator[Slice]:
    taken: list[Path] = []
    first = rows = 0
    for part, height in zip(parts, heights, strict=True):
        taken.append(part)
        rows += height
        if rows >= 2 * ROWS or part == parts[-1]:
            yield Slice(first, tuple(taken), buckets.slice(first, rows), folder)
            taken, first, rows = [], first + rows, 0


def copy(piece: Slice, progress: Progress = nothing) -> dict[int, Path]:
    """Write the records of each bucket to a part of its own."""
    frames = [pl.read_parquet(part) for part in piece.parts]
    rows = pl.concat(frames, how="diagonal_relaxed")
    del frames
    progress(piece.size, rows.height)
    found = {}
    for bucket in piece.buckets.unique().sort():
        found[bucket] = piece.folder / f"bucket-{bucket:06d}-{piece.number:012d}.parquet"
        spill(found[bucket], rows.filter(piece.buckets == bucket), PART)
    return found
