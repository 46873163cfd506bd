"""A pool whose server may be decode's clears no prompt, and still accuses those over it."""

import json
from pathlib import Path
from typing import Any

import pytest

import forensics
from forensics.incident import parse

POOL = "[MemUsageChange] Allocated 4 GiB for max tokens in paged KV cache (99000)."
TRTLLM = [
    "[TensorRT-LLM][INFO] max_seq_len=131072, max_num_requests=2048, max_num_tokens=8192",
    "[TensorRT-LLM][INFO] Number of tokens per block: 32.",
    f"[TensorRT-LLM][INFO] {POOL}",
]
START = "Initializing a V1 LLM engine (v0.11.0) with config: model='m', max_seq_len=131072, x=1"
VLLM = [
    f"(EngineCore pid=6) INFO 02-03 11:00:00 [core.py:77] {START}",
    "(EngineCore pid=6) INFO 02-03 11:00:09 [x.py:1087] GPU KV cache size: 99,000 tokens",
    *(
        f"(APIServer pid=5) INFO 02-03 12:00:0{n} [async_llm.py:316] Added request chatcmpl-{name}."
        for n, name in enumerate(("small", "between", "over"))
    ),
]
SIZES = {"small": 10, "between": 52_310, "over": 120_000}
DAY = ["2026-02-03T00:00:00Z", "2026-02-04T00:00:00Z"]


@pytest.fixture
def tiers(tmp_path: Path):
    def judge(name: str, lines: list[str], **incident: Any) -> dict[str, str]:
        (tmp_path / f"{name}.log").write_text("\n".join(lines) + "\n")
        record = {"hop": "gateway", "received_at": "2026-02-03T12:00:00Z", "completion_tokens": 9}
        told = [record | {"request_id": n, "prompt_tokens": size} for n, size in SIZES.items()]
        (tmp_path / "gateway.ndjson").write_text("".join(json.dumps(row) + "\n" for row in told))
        asked = parse({"scope": {"window": DAY}, "logs": {"timezone": "UTC"}, **incident})
        rows = forensics.read_logs(tmp_path, incident=asked).requests.polars()
        return dict(rows.select("request_id", "tier").iter_rows())

    return judge


UNTOLD = {"small": "not_assessable", "between": "not_assessable", "over": "possible"}
BELOW = {"small": "ruled_out", "between": "ruled_out", "over": "possible"}


@pytest.mark.parametrize("lines", [TRTLLM, VLLM], ids=["trtllm", "vllm"])
def test_the_pool_of_a_worker_of_unknown_side_clears_nobody(tiers, lines):
    assert tiers("gen-1", lines) == UNTOLD


def test_a_server_that_operators_call_prefill_is_one(tiers):
    assert tiers("ctx-1", TRTLLM) == BELOW


def test_what_the_incident_states_of_its_side_decides(tiers):
    assert tiers("w-1", TRTLLM, capacity=[{"node": "w-1", "role": "prefill"}]) == BELOW
