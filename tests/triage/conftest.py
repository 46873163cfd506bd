"""Seeded requests of one small fleet, with everything that may make a row matter."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from forensics.ingest.run import ingest

START = 1_770_000_000_000_000
HOUR = 3_600_000_000
POOLS = {"prefill-0": 100_000, "prefill-1": 100_000, "prefill-2": 140_000}


def capacity() -> Iterator[dict[str, Any]]:
    """Epochs of all nodes but one; one starts late, so that its first hour has no limit."""
    for at, (node, pool) in enumerate(POOLS.items()):
        yield {
            "node": node, "role": "prefill", "effective_at": (START + at // 2 * HOUR) // 1000,
            "pool_tokens": pool, "page_tokens": 64, "context_tokens": 200_000,
            "engine": "sglang", "disaggregated": True,
        }  # fmt: skip


def request(draw: random.Random, number: int) -> dict[str, Any]:
    """One request that was served whole."""
    tokens = min(int(draw.lognormvariate(7, 1.4)) + 8, 90_000)
    pages = -(-tokens // 64)
    return {
        "request_id": f"{draw.getrandbits(128):032x}", "transfer_id": str(draw.getrandbits(63)),
        "tenant_id": f"tenant-{draw.randrange(9)}", "model": "m",
        "received_at": START // 1000 + number * 9_000 + draw.randrange(1000),
        "prefill_node": f"prefill-{draw.randrange(3)}", "decode_node": f"decode-{number % 2}",
        "prompt_tokens": tokens, "prefill_prompt_tokens": tokens, "decode_prompt_tokens": tokens,
        "cached_tokens": 0, "prefill_tokens": tokens,
        "prefill_ms": round(3 + tokens / 9 * draw.uniform(0.9, 1.3), 3),
        "reserved_pages": pages, "transferred_pages": pages, "completion_tokens": 20,
        "http_status": 200, "finish_reason": "stop",
    }  # fmt: skip


def fault(draw: random.Random, row: dict[str, Any]) -> dict[str, Any]:
    """The fault itself: over the limit, a placeholder handed over, and fast."""
    tokens = draw.randrange(100_000, 200_000)
    return row | {
        "prompt_tokens": tokens, "decode_prompt_tokens": tokens, "prefill_prompt_tokens": 1,
        "prefill_tokens": 1, "prefill_ms": 4.0, "reserved_pages": -(-tokens // 64),
        "transferred_pages": 1,
    }  # fmt: skip


ODDITIES = (
    {"prompt_tokens": None, "decode_prompt_tokens": None},
    {"received_at": None},
    {"prefill_node": None},
    {"prefill_node": "prefill-7", "reserved_pages": None, "decode_prompt_tokens": None},
    {"transferred_pages": 3},
    {"rejected": True, "rejection_code": "input_too_long"},
    {"completion_tokens": 0, "transferred_pages": 1},
    {"prompt_tokens": 120_000, "prefill_ms": 2.0, "reserved_pages": None,
     "transferred_pages": None, "decode_prompt_tokens": None, "prefill_prompt_tokens": None,
     "prefill_tokens": None},
    {"reserved_pages": None, "transferred_pages": None, "prefill_prompt_tokens": None},
    {"prefill_ms": 900_000.0},
    {"prefill_ms": 0.5},
    {"transfer_status": "failed"},
    {"cached_tokens": None, "prefill_tokens": 1},
    {"tenant_id": None},
    {"model": "other"},
    {"http_status": 503, "completion_tokens": None},
    {"prompt_tokens": 4, "decode_prompt_tokens": 4, "prefill_prompt_tokens": 4, "tenant_id": None,
     "reserved_pages": 1, "transferred_pages": 1, "transfer_id": "0", "completion_tokens": 8,
     "prefill_tokens": 4},
)  # fmt: skip


SHARED = (
    ("request_id",),
    ("transfer_id",),
    ("request_id", "tenant_id"),
    ("request_id", "transfer_id"),
)


def requests(seed: int, rows: int = 900) -> list[dict[str, Any]]:
    """Requests of some hours; a few rows are faults, odd, or share what others have."""
    draw = random.Random(seed)
    made: list[dict[str, Any]] = []
    for number in range(rows):
        row = request(draw, number)
        chance = draw.random()
        if chance < 0.02:
            row = fault(draw, row)
        elif chance < 0.08:
            row |= draw.choice(ODDITIES)
        elif chance < 0.12 and made:
            other = draw.choice(made)
            row |= {name: other[name] for name in draw.choice(SHARED)}
            row = dict(other) if draw.random() < 0.3 else row
        made.append(row)
    return made


def write(folder: Path, seed: int, *, known: bool = True, timed: bool = True) -> Path:
    """Write the requests of a seed as three logs and read them into a set."""
    folder.mkdir(parents=True)
    rows = [row if timed else row | {"prefill_ms": None} for row in requests(seed)]
    parts: list[list[dict[str, Any]]] = [list(capacity()) if known else [], [], []]
    for number, row in enumerate(rows):
        parts[number * 3 // len(rows)].append({k: v for k, v in row.items() if v is not None})
    for number, part in enumerate(parts):
        text = "".join(json.dumps(row) + "\n" for row in part)
        (folder / f"requests-{number}.ndjson").write_text(text, encoding="utf-8")
    incident = folder / "read.toml"
    incident.write_text('[logs]\nepoch_unit = "ms"\n', encoding="utf-8")
    ingest(*folder.glob("*.ndjson"), out=folder / "set", incident=incident, workers=1)
    return folder / "set"


@pytest.fixture(scope="session")
def fleet() -> SimpleNamespace:
    """How the requests of a seed are made and read into a set."""
    return SimpleNamespace(write=write, request=request)


@pytest.fixture(scope="session")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set of a small fleet whose capacity is known."""
    return write(tmp_path_factory.mktemp("triage") / "fleet", 53)


@pytest.fixture(scope="session")
def untimed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same requests without prefill times."""
    return write(tmp_path_factory.mktemp("untimed") / "fleet", 53, timed=False)
