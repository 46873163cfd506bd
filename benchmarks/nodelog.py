"""A decode node's log to measure with: seeded SGLang lines in the mix that a node writes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.data import CONTEXT_TOKENS, LONG_SHARE, POOL_TOKENS, SEED
from forensics.lab import sglanglines

START = datetime(2026, 8, 27, tzinfo=UTC)
STEP = timedelta(milliseconds=180)
RANKS = 8
BATCH_LINES = 4
"""Batch lines for each request: a decode rank prints one every 40 steps."""
LINES = BATCH_LINES + 2
"""Lines of a request: batches, its time statistics, the web server's line."""


def write(path: Path, rows: int) -> None:
    """Write the lines of ``rows`` requests, the start of the server first."""
    draw = random.Random(SEED)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(_start())
        for number in range(rows):
            file.writelines(_request(draw, START + number * STEP))


def _start() -> Iterator[str]:
    prefix = f"[{START:%Y-%m-%d %H:%M:%S}"
    for rank in range(RANKS):
        pool = f"#tokens: {2 * POOL_TOKENS}, KV size: 74.97 GB"
        yield f"{prefix} DP{rank} TP{rank}] KV Cache is allocated. dtype: fp8, {pool}\n"
    limits = f"max_total_num_tokens={2 * POOL_TOKENS}, context_len={CONTEXT_TOKENS}"
    yield f"{prefix} DP0 TP0] {limits}, available_gpu_mem=12.31 GB\n"


def _request(draw: random.Random, at: datetime) -> Iterator[str]:
    rank, room = draw.randrange(RANKS), draw.getrandbits(63)
    for _ in range(BATCH_LINES):
        busy = draw.randrange(RANKS)
        running = draw.randrange(1, 30)
        text = sglanglines.decode_batch(running, running * 4_096, 2 * POOL_TOKENS)
        yield f"[{at:%Y-%m-%d %H:%M:%S} DP{busy} TP{busy}] {text}\n"
    yield f"[{at:%Y-%m-%d %H:%M:%S} DP{rank} TP{rank}] {_stats(draw, at, room)}\n"
    yield f"[{at:%Y-%m-%d %H:%M:%S}] {sglanglines.access(room, '200 OK')}\n"


def _stats(draw: random.Random, at: datetime, room: int) -> str:
    tokens = min(int(draw.lognormvariate(7.9, 1.5)) + 1, POOL_TOKENS // 2)
    if draw.random() < LONG_SHARE:
        tokens = draw.randrange(POOL_TOKENS + 1, CONTEXT_TOKENS)
    answer = draw.randrange(1, 2_000)
    return (
        f"ReqTimeStats(rid={draw.getrandbits(128):032x}, bootstrap_room={room}, "
        f"input_len={tokens}, cached_input_len=0, output_len={answer}, attempts=0, type=decode): "
        f"bootstrap_duration=14.00ms, alloc_wait_duration=1.00ms, "
        f"transfer_duration={draw.uniform(20, 400):.2f}ms, queue_duration=4.00ms, "
        f"forward_duration={answer * 27.4:.2f}ms, entry_time={at.timestamp():.3f}"
    )
