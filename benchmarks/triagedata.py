"""An evidence set of many requests, made in columns: seeded, one log of each day and node."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks import data
from forensics.ingest.run import ingest

FILE_ROWS = 500_000
_MICROS = 1_000_000


def write(folder: Path, rows: int) -> None:
    """Write a set of so many requests; the logs that it was made of are not kept."""
    logs = folder.with_name(f"{folder.name}-logs")
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    capacity = "".join(json.dumps(record) + "\n" for record in data._capacity())
    (logs / "capacity.ndjson").write_text(capacity, encoding="utf-8")
    step = int(data.WINDOW.total_seconds() * _MICROS) // rows
    incident = logs / "read.toml"
    incident.write_text('[logs]\nepoch_unit = "us"\n', encoding="utf-8")
    for number, first in enumerate(range(0, rows, FILE_ROWS)):
        made = _requests(first, min(FILE_ROWS, rows - first), step)
        made.write_parquet(logs / f"requests-{number:05}.parquet")
    ingest(logs, out=folder, incident=incident, force=True)
    shutil.rmtree(logs)


def _requests(first: int, rows: int, step: int) -> pl.DataFrame:
    draw = np.random.default_rng([data.SEED, first])
    tokens = np.minimum(draw.lognormal(7.9, 1.5, rows).astype(np.int64) + 8, data.POOL_TOKENS // 2)
    over = draw.random(rows) < data.LONG_SHARE / 10
    longer = draw.integers(data.POOL_TOKENS + 1, data.CONTEXT_TOKENS, rows)
    tokens = np.where(over, longer, tokens)
    pages, computed = -(-tokens // data.PAGE_TOKENS), np.where(over, 1, tokens)
    start = int(data.START.timestamp()) * _MICROS
    at = start + (first + np.arange(rows)) * step
    ms = np.round(3 + computed / 9 * draw.uniform(0.9, 1.4, rows), 3)
    ids = pl.DataFrame({"a": draw.integers(0, 2**62, rows), "b": draw.integers(0, 2**62, rows)})
    node = draw.integers(0, data.PREFILL_NODES, rows), draw.integers(0, data.DECODE_NODES, rows)
    names = [np.array([f"{side}-{n:02}" for n in range(8)]) for side in ("prefill", "decode")]
    tenants = np.array([f"tenant-{n:03}" for n in range(data.TENANTS)])
    tenant = (draw.pareto(1.1, rows) + 1).astype(np.int64) % data.TENANTS
    return pl.DataFrame(
        {
            "request_id": ids.select(
                pl.concat_str(pl.format("{}{}", pl.col("a").hash(1).cast(pl.String), "b"))
            ).to_series(),
            "transfer_id": pl.Series(draw.integers(2**40, 2**63 - 1, rows)).cast(pl.String),
            "tenant_id": tenants[tenant],
            "model": np.full(rows, "glm-5.3"),
            "received_at": at,
            "finished_at": at + (ms * 1000).astype(np.int64) + 4 * _MICROS,
            "prefill_node": names[0][node[0]],
            "decode_node": names[1][node[1]],
            "prompt_tokens": tokens,
            "prefill_prompt_tokens": computed,
            "decode_prompt_tokens": tokens,
            "cached_tokens": np.zeros(rows, dtype=np.int64),
            "prefill_tokens": computed,
            "prefill_ms": ms,
            "reserved_pages": pages,
            "transferred_pages": np.where(over, 1, pages),
            "completion_tokens": draw.integers(1, 2_000, rows),
            "http_status": np.full(rows, 200),
            "finish_reason": np.full(rows, "stop"),
        }
    )
