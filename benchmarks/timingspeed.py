"""Speed of scoring prefill times beside the reading of their columns, and of forming clusters.

One task a process: ``python -m benchmarks.timingspeed TASK FILE``.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.timingdata import COLUMNS, HOURS, NODES, POOL_TOKENS, START
from forensics.timing import clusters
from forensics.timing.bins import Integers
from forensics.timing.blocks import Block
from forensics.timing.scores import judge

FLAGGED = 1_000_000
"""Flagged requests that are put into clusters."""


def read(file: Path) -> object:
    """Read the columns that scoring needs with Polars alone, and nothing else."""
    return pl.scan_parquet(file).select(pl.col(COLUMNS).max()).collect(engine="streaming").row(0)


def score(file: Path) -> object:
    """Score all requests, a block at a time; return how many are fast and slow."""
    found = judge(lambda: _blocks(file))
    return len(found.fast), len(found.slow)


def _blocks(file: Path) -> Iterator[Block]:
    """Yield the rows as :func:`forensics.timing.blocks.of` gives them, without names in each."""
    first = 0
    # What is read ahead would be the whole file.
    opened = pq.ParquetFile(file, read_dictionary=["prefill_node"], pre_buffer=False)
    for group in range(opened.num_row_groups):
        rows = opened.read_row_group(group, columns=list(COLUMNS[1:])).combine_chunks()
        (batch,) = rows.to_batches()
        yield _block(batch, first, partial(_minutes, opened, group))
        first += batch.num_rows


def _minutes(opened: pq.ParquetFile, group: int) -> Integers:
    """Read the times of a row group, which one pass of three asks for."""
    (at,) = opened.read_row_group(group, columns=[COLUMNS[0]]).columns
    minutes: Integers = at.to_numpy() // 60_000_000
    return minutes


def _block(batch: pa.RecordBatch, first: int, told: Callable[[], Integers]) -> Block:
    node, *others = batch.columns
    prompt, cached, ms = (column.to_numpy() for column in others)
    over = prompt > POOL_TOKENS
    rows = Block(
        groups=tuple(
            ("plain-parquet, joined", "m", name, None) for name in node.dictionary.to_pylist()
        ),
        row=np.arange(first, first + batch.num_rows),
        group=node.indices.to_numpy(),
        uncached=prompt - cached,
        cached=cached,
        ms=ms,
        over=over,
        below=~over,
        told=told,
    )
    if min(rows.uncached.min() - 1, cached.min()) >= 0 and ms.min() > 0:
        return rows
    return rows.kept(np.flatnonzero((rows.uncached > 0) & (cached >= 0) & (ms > 0)))


def cluster(_file: Path) -> object:
    """Form clusters of a million flagged requests; return how many."""
    return clusters.form(_flagged(FLAGGED)).clusters.height


def _flagged(size: int) -> pl.DataFrame:
    """Return requests of which each is flagged: half as too fast, half of these over the limit."""
    row = pl.int_range(pl.len(), dtype=pl.UInt32)
    fast = row % 2 == 0
    tokens = (pl.when(row % 4 == 0).then(700_000).otherwise(300_000) + row % 300_000).cast(pl.Int64)
    rows = pl.select(row=pl.int_range(size)).select(
        _row=row,
        received_at=START + (pl.col("row") * (HOURS * 3_600_000_000 // size)),
        prefill_node="prefill-" + (row % NODES).cast(pl.String) + "/dp0",
        tenant_id="tenant-" + (row % 400).cast(pl.String),
        prompt_tokens=tokens,
        uncached_tokens=tokens,
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
