"""A bucket's records, joined by their identifiers alone, and what of them all others are told."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from forensics import joins, observations, skew
from forensics.believed import JOINED
from forensics.clock import Clocks
from forensics.folding.held import keep
from forensics.folding.spread import Records
from forensics.joins import candidates
from forensics.sources.reading import Progress, nothing


@dataclass(frozen=True)
class Bucket:
    """Records of a bucket, and what all buckets are read by; ``columns`` any part has."""

    number: int
    records: Records
    columns: tuple[str, ...]
    clocks: Clocks
    roles: pl.DataFrame
    folder: Path

    @property
    def name(self) -> str:
        """What an error calls it."""
        return "records of requests"

    @property
    def size(self) -> int:
        """How many records."""
        return self.records.rows


@dataclass(frozen=True)
class Linked:
    """What linking found in a bucket.

    ``files`` hold the records, by kind; ``sized`` is of :func:`forensics.joins.sized`,
    ``remnants`` of :func:`forensics.joins.remnants`, both by key, and ``apart`` of
    :func:`forensics.skew.apart`. ``earlier`` says that some record speaks for several hand-offs,
    ``callers`` that some caller's span has no id but its trace. ``assumed`` are nodes whose zone
    was a guess.
    """

    files: dict[str, Path]
    doubled: pl.DataFrame
    probes: dict[int, int]
    probed: pl.DataFrame
    orphans: pl.Series
    sized: dict[str, pl.DataFrame]
    remnants: pl.DataFrame
    apart: pl.DataFrame
    models: frozenset[str]
    assumed: frozenset[str]
    decode: bool
    earlier: bool
    callers: bool


def link(bucket: Bucket, progress: Progress = nothing) -> Linked:
    """Join the records of a bucket by their identifiers."""
    records = bucket.records
    loaded = observations.load(records.parts, bucket.clocks, bucket.roles, bucket.columns)
    joined, orphans = joins.without_orphans(joins.assign(loaded.frame, records.before))
    joined = joined.with_columns(hop=pl.col("hop").fill_null(JOINED))
    progress(0, joined.height)
    return Linked(
        files=keep(joined, bucket.folder, f"linked-{bucket.number:06d}"),
        doubled=loaded.doubled,
        probes=loaded.probes,
        probed=loaded.probed,
        orphans=orphans,
        sized=joins.sized(joined),
        remnants=joins.remnants(joined),
        apart=skew.apart(joined),
        models=candidates.models(joined),
        assumed=_assumed(joined),
        decode=bool((joined["hop"] == "decode").any()),
        earlier=bool(joined["earlier"].any()),
        callers=joins.named_by_trace(joined),
    )


def _assumed(joined: pl.DataFrame) -> frozenset[str]:
    if "source_node" not in joined.columns:
        return frozenset()
    own = joined.filter(pl.col("assumed").fill_null(value=False))["source_node"]
    return frozenset(own.drop_nulls().unique())
