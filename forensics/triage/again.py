"""The second look at a shard: rows that were counted, and matter beside what others hold."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from forensics.sources.reading import Progress, nothing
from forensics.triage import counts
from forensics.triage.counts import KEY
from forensics.triage.keys import Hashes, among, contained
from forensics.triage.shards import IDS, Found, Shard, counted, keep, left, needed


@dataclass(frozen=True)
class Again:
    """A shard whose rows of some keys of counts, or with some identifiers, are to be kept too.

    ``repeated`` are sorted hashes, one array for each of :data:`forensics.triage.shards.IDS`.
    """

    shard: Shard
    keys: pl.DataFrame
    repeated: tuple[Hashes, ...]

    @property
    def name(self) -> str:
        """Name of the first partition."""
        return self.shard.name

    @property
    def size(self) -> int:
        """Bytes of the partitions."""
        return self.shard.size


def concerned(found: Found, keys: pl.DataFrame, repeated: tuple[Hashes, ...]) -> bool:
    """Say whether a shard has rows of one of the keys, or one of the identifiers."""
    if found.counts.join(keys, on=KEY, how="semi", nulls_equal=True).height:
        return True
    return any(
        contained(twice, own.values()).any() for own, twice in zip(found.ids, repeated, strict=True)
    )


def look_again(again: Again, progress: Progress = nothing) -> Found:
    """Keep rows that the first look counted; return the counts of these alone."""
    shard = again.shard
    data = shard.data()
    rows = counts.keyed(needed(shard, data))
    first = counted(rows, shard.least)
    moved = first & _wanted(rows, again)
    progress(shard.size, rows.height)
    kept = keep(shard, data, rows, moved)
    rest = left(shard, rows, first & ~moved) if shard.basis is not None else None
    return Found(counts.count(rows, moved), kept, left=rest)


def _wanted(rows: pl.DataFrame, again: Again) -> pl.Series:
    keys = again.keys.with_columns(wanted=pl.lit(value=True))
    held = rows.select(KEY).join(keys, on=KEY, how="left", nulls_equal=True, maintain_order="left")
    wanted = held["wanted"].fill_null(value=False)
    for name, twice in zip(IDS, again.repeated, strict=True):
        wanted = wanted | among(rows[name], twice)
    return wanted
