"""Requests to measure with: seeded plain records, each with text that is to be skipped."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

SEED = 53
TENANTS = 400
PREFILL_NODES = 8
DECODE_NODES = 8
PAGE_TOKENS = 64
POOL_TOKENS = 681_280
CONTEXT_TOKENS = 1_048_576
START = datetime(2026, 8, 27, tzinfo=UTC)
WINDOW = timedelta(days=14)
LONG_SHARE = 0.0005
"""Share of prompts over the prefill limit: rare, as in a real incident."""

COLUMNS = (
    "request_id",
    "transfer_id",
    "tenant_id",
    "model",
    "received_at",
    "finished_at",
    "prefill_node",
    "decode_node",
    "prompt_tokens",
    "prefill_prompt_tokens",
    "decode_prompt_tokens",
    "cached_tokens",
    "prefill_tokens",
    "prefill_ms",
    "reserved_pages",
    "transferred_pages",
    "completion_tokens",
    "http_status",
    "finish_reason",
)
"""What every generated request has, besides its text: the bare scans project these."""

_WORDS = ("page", "quote\\u0022", "naïve", "pool", "\\n\\tcode {", "answer", "token", "[list]")


def write(path: Path, rows: int) -> None:
    """Write ``rows`` requests as NDJSON, the capacity records of their nodes first."""
    draw = random.Random(SEED)
    texts = [_text(draw) for _ in range(500)]
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(json.dumps(record) + "\n" for record in _capacity())
        file.writelines(_requests(draw, rows, texts))


def _capacity() -> Iterator[dict[str, object]]:
    for role, nodes, pool in (
        ("prefill", PREFILL_NODES, POOL_TOKENS),
        ("decode", DECODE_NODES, 2 * POOL_TOKENS),
    ):
        for number in range(nodes):
            yield {
                "node": f"{role}-{number:02}",
                "role": role,
                "effective_at": _stamp(START),
                "pool_tokens": pool,
                "page_tokens": PAGE_TOKENS,
                "context_tokens": CONTEXT_TOKENS,
                "engine": "sglang",
                "disaggregated": True,
            }


def _requests(draw: random.Random, rows: int, texts: list[str]) -> Iterator[str]:
    step = WINDOW / max(rows, 1)
    for number in range(rows):
        values = json.dumps(_values(draw, number, START + number * step))
        yield f'{values[:-1]}, "body": {{"messages": [{draw.choice(texts)}]}}}}\n'


def _values(draw: random.Random, number: int, at: datetime) -> dict[str, object]:
    tokens = min(int(draw.lognormvariate(7.9, 1.5)) + 1, POOL_TOKENS // 2)
    over = draw.random() < LONG_SHARE
    if over:
        tokens = draw.randrange(POOL_TOKENS + 1, CONTEXT_TOKENS)
    pages = -(-tokens // PAGE_TOKENS)
    computed = 1 if over else tokens
    milliseconds = 3 + computed / 9 * draw.uniform(0.9, 1.4)
    return {
        "request_id": f"{draw.getrandbits(128):032x}",
        "transfer_id": str(draw.getrandbits(63)),
        "tenant_id": f"tenant-{int(draw.paretovariate(1.1)) % TENANTS:03}",
        "model": "glm-5.3",
        "received_at": _stamp(at),
        "finished_at": _stamp(at + timedelta(milliseconds=milliseconds + 4_000)),
        "prefill_node": f"prefill-{number % PREFILL_NODES:02}",
        "decode_node": f"decode-{draw.randrange(DECODE_NODES):02}",
        "prompt_tokens": tokens,
        "prefill_prompt_tokens": computed,
        "decode_prompt_tokens": tokens,
        "cached_tokens": 0,
        "prefill_tokens": computed,
        "prefill_ms": round(milliseconds, 3),
        "reserved_pages": pages,
        "transferred_pages": 1 if over else pages,
        "completion_tokens": draw.randrange(1, 2_000),
        "http_status": 200,
        "finish_reason": "stop",
    }


def _text(draw: random.Random) -> str:
    """Return one message as JSON, some hundred bytes with what makes a reader stumble."""
    words = " ".join(draw.choice(_WORDS) for _ in range(draw.randrange(30, 90)))
    return f'{{"role": "user", "content": "{words}"}}'


def _stamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
