"""Speed of scoring prefill times beside the reading of their columns, and of forming clusters.

One task a process: ``python -m benchmarks.timingspeed TASK FILE``.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl

from benchmarks.timingdata import COLUMNS, HOURS, NODES, POOL_TOKENS, START

AT_A_TIME = 1_000_000
FLAGGED = 1_000_000
"""Flagged requests that are put into clusters."""


def read(file: Path) -> object:
    """Read the columns that scoring needs with Polars alone, and nothing else."""
    return pl.scan_parquet(file).select(pl.col(COLUMNS).max()).collect(engine="streaming").row(0)


def score(file: Path) -> object:
    """Score all requests: read in parts, three times; return how many are too fast and slow."""
    from forensics.timing.stream import flagged

    found = flagged(lambda: _parts(file))
    return found.select(pl.col("timing_fast", "timing_slow").sum()).row(0)


def _parts(file: Path) -> Iterator[pl.DataFrame]:
    """Yield the rows as :func:`forensics.timing.work.timed` gives them."""
    import pyarrow.parquet as pq

    from forensics.timing.work import grouped

    first = 0
    for batch in pq.ParquetFile(file).iter_batches(AT_A_TIME, columns=list(COLUMNS)):
        rows = pl.DataFrame(pl.from_arrow(batch)).with_row_index("_row", first)
        first += rows.height
        yield grouped(
            rows.select(
                "_row",
                source=pl.lit("plain-parquet, joined"),
                model=pl.lit("m"),
                since=pl.lit(None, dtype=pl.Int64),
                ms="prefill_ms",
                cached="cached_tokens",
                over=pl.col("prompt_tokens") > POOL_TOKENS,
                node=pl.col("prefill_node").cast(pl.String),
                uncached=pl.col("prompt_tokens") - pl.col("cached_tokens"),
            )
        )


def cluster(_file: Path) -> object:
    """Form clusters of a million flagged requests; return how many."""
    from forensics.timing import clusters

    return clusters.form(_flagged(FLAGGED)).clusters.height


def _flagged(size: int) -> pl.DataFrame:
    """Return requests of which each is flagged, half of them as too fast over the limit."""
    row = pl.int_range(pl.len(), dtype=pl.UInt32)
    fast = row % 2 == 0
    rows = pl.select(row=pl.int_range(size)).select(
        _row=row,
        received_at=START + (pl.col("row") * (HOURS * 3_600_000_000 // size)),
        prefill_node="prefill-" + (row % NODES).cast(pl.String) + "/dp0",
        tenant_id="tenant-" + (row % 400).cast(pl.String),
        prompt_tokens=(700_000 + row % 300_000).cast(pl.Int64),
        uncached_tokens=(700_000 + row % 300_000).cast(pl.Int64),
        timing_ratio=pl.when(fast).then(0.001 + (row % 97) / 1e5).otherwise(4.0 + (row % 7)),
        timing_fast=fast,
        timing_slow=~fast,
    )
    return rows.with_columns(limit_low=pl.lit(POOL_TOKENS, dtype=pl.Int64))


TASKS: dict[str, Callable[[Path], object]] = {
    "reading of the columns": read,
    "scoring, read in parts": score,
    "clusters of a million flagged": cluster,
}


def main(name: str, file: str) -> None:
    """Run one task and print its seconds."""
    begun, cpu = time.perf_counter(), time.process_time()
    TASKS[name](Path(file))
    seconds, cpu_seconds = time.perf_counter() - begun, time.process_time() - cpu
    print(json.dumps({"seconds": seconds, "cpu_seconds": cpu_seconds}))


if __name__ == "__main__":
    main(*sys.argv[1:])
