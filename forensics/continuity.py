"""Since when a server is known to have run without a start, where no log has its start.

The log of a server that holds no line of a start shows one boot from its first line to its last.
What is known of that boot at one moment of it held all that time; before the first line nothing
shows that the boot was the same, nor after the last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from forensics.clock import Clocks
from forensics.schema import ENGINE_HOP

Ran = Mapping[str, tuple[int, int]]
"""By server: the first and the last moment (µs) that its own log has of it."""

_QUARTER = 15 * 60 * 1_000_000
_OWN = ("prefill", "decode", ENGINE_HOP)
_COLUMNS: dict[str, pl.DataType] = {
    "source_node": pl.String(),
    "naive": pl.Boolean(),
    "received_at": pl.Int64(),
}


def logged(
    parts: Sequence[Path], activity: Sequence[pl.DataFrame], clocks: Clocks, servers: set[str]
) -> Ran:
    """Return from when to when the logs of some servers show them running.

    Args:
        parts: observations as they were read; those of engines alone are of a server's log.
        activity: batch lines, by quarter of an hour.
        clocks: zone of each node's wall clock.
        servers: those that are asked for.
    """
    frames = [_requests(part, servers) for part in parts] if servers else []
    moments = [frame.with_columns(until="received_at") for frame in frames]
    moments += [_batches(frame, servers) for frame in activity if servers]
    if not moments:
        return {}
    rows = clocks.resolve(pl.concat(moments, how="diagonal_relaxed"), ["received_at", "until"])
    spans = rows.group_by("source_node").agg(pl.col("received_at").min(), pl.col("until").max())
    return {server: (first, last) for server, first, last in spans.drop_nulls().iter_rows()}


def _requests(part: Path, servers: set[str]) -> pl.DataFrame:
    """Return the first and last arrival of each server's own records in one part."""
    rows = pl.scan_parquet(part)
    names = set(rows.collect_schema().names())
    if not {"hop", *_COLUMNS} <= names:
        return pl.DataFrame(schema=_COLUMNS)
    own = pl.col("hop").cast(pl.String).is_in(_OWN) & pl.col("source_node").is_in(sorted(servers))
    ends = rows.filter(own).select(pl.col(n).cast(t) for n, t in _COLUMNS.items())
    found = ends.group_by("source_node", "naive").agg(
        first=pl.col("received_at").min(), last=pl.col("received_at").max()
    )
    both = found.unpivot(["first", "last"], index=["source_node", "naive"])
    return both.select("source_node", "naive", received_at="value").drop_nulls().collect()


def _batches(frame: pl.DataFrame, servers: set[str]) -> pl.DataFrame:
    """Return the quarters of an hour in which each server ran batches."""
    if not {"source_node", "naive", "at", "batches"} <= set(frame.columns):
        return pl.DataFrame(schema=_COLUMNS)
    own = pl.col("source_node").is_in(sorted(servers)) & pl.col("batches").is_not_null()
    return frame.filter(own).select(
        "source_node", "naive", received_at="at", until=pl.col("at") + _QUARTER
    )
