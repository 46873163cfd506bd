"""Requests with prefill times to score: Parquet of any size, written a million rows at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from forensics.lab.clock import HOUR
from forensics.lab.laws import Floats, Law, Pace, prefill_ms

SEED = 53
NODES = 16
HOURS = 13 * 24
START = 1_787_788_800_000_000
POOL_TOKENS = 681_280
CONTEXT_TOKENS = 1_048_576
LEAKS = 0.001
AT_A_TIME = 1_000_000
ROW_GROUP = 250_000
COLUMNS = ("received_at", "prefill_node", "prompt_tokens", "cached_tokens", "prefill_ms")
"""What scoring needs of a request; the bare scan projects the same."""


def write(path: Path, rows: int) -> None:
    """Write ``rows`` requests in the order of their time; one in a thousand was not computed."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(SEED)
    pace = Pace.drawn(NODES, HOURS, rng).by_hour
    writer = None
    for first in range(0, rows, AT_A_TIME):
        size = min(AT_A_TIME, rows - first)
        span = (int(first / rows * HOURS * HOUR), int((first + size) / rows * HOURS * HOUR))
        table = pa.table(_columns(size, span, rng, pace))
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table, row_group_size=ROW_GROUP)
    if writer is not None:
        writer.close()


def _columns(
    size: int, span: tuple[int, int], rng: np.random.Generator, pace: Floats
) -> dict[str, Any]:
    import pyarrow as pa

    at = np.sort(rng.integers(*span, size))
    node = rng.integers(0, NODES, size)
    usual = rng.lognormal(np.log(2_600), 1.55, size).clip(4, POOL_TOKENS * 0.9)
    leak = rng.random(size) < LEAKS
    over = rng.integers(POOL_TOKENS + 1, CONTEXT_TOKENS, size)
    prompt = np.where(leak, over, usual).astype(np.int64)
    part = np.where(rng.random(size) < 0.55, rng.beta(3.0, 0.35, size), 0)
    cached = np.where(leak, 0, np.minimum(prompt - 1, prompt * part) // 64 * 64).astype(np.int64)
    computed = np.where(leak, 1, prompt - cached)
    took = prefill_ms(computed, cached, pace[node, at // HOUR], Law(), rng)
    nodes = pa.array([f"prefill-{number:02}/dp0" for number in range(NODES)])
    names = pa.DictionaryArray.from_arrays(pa.array(node.astype(np.int32)), nodes)
    values = (at + START, prompt, cached, took.round(3))
    received, *others = (pa.array(column) for column in values)
    return dict(zip(COLUMNS, (received, names, *others), strict=True))
