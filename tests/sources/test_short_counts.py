"""A count that cannot be the whole prompt clears nobody."""

import json
from pathlib import Path
from typing import Any

import pytest

import forensics
from forensics.incident import parse

INCIDENT = parse({"trigger": {"threshold_tokens": 49_152}, "logs": {"timezone": "UTC"}})
AT = 1_773_478_829
ID = "78ee4789-338c-4183-bcea-0ab7d6f4603b"


@pytest.fixture
def row(tmp_path: Path):
    def judge(name: str, *lines: str) -> dict[str, Any]:
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
        (only,) = (
            forensics.read_logs(tmp_path / name, incident=INCIDENT).requests.polars().to_dicts()
        )
        return only

    return judge


def span(system: str, **counts: int) -> str:
    values = {
        "gen_ai.system": {"stringValue": system},
        "gen_ai.operation.name": {"stringValue": "chat"},
    }
    usage = {"input": "input_tokens", "read": "cache_read.input_tokens",
             "created": "cache_creation.input_tokens", "output": "output_tokens"}  # fmt: skip
    values |= {f"gen_ai.usage.{usage[n]}": {"intValue": str(c)} for n, c in counts.items()}
    attributes = [{"key": key, "value": value} for key, value in values.items()]
    one = {
        "traceId": "ab" * 16, "spanId": "cd" * 8, "name": "chat m", "attributes": attributes,
        "startTimeUnixNano": f"{AT}000000000", "endTimeUnixNano": f"{AT + 1}000000000",
    }  # fmt: skip
    scope = {"scope": {"name": "opentelemetry.instrumentation.x"}, "spans": [one]}
    return json.dumps({"resourceSpans": [{"scopeSpans": [scope]}]})


@pytest.mark.parametrize(
    ("system", "counts", "prompt"),
    [
        ("anthropic", {"input": 12, "read": 30_000, "created": 22_298}, 52_310),
        ("anthropic", {"input": 12, "created": 52_298}, 52_310),
        ("anthropic", {"input": 30_000, "read": 25_000}, 55_000),
        ("openai", {"input": 30_000, "read": 25_000}, 30_000),
        ("openai", {"input": 12, "read": 52_298}, 52_310),
    ],
)
def test_what_a_cache_held_is_of_the_prompt(row, system, counts, prompt):
    found = row("spans.jsonl", span(system, **counts, output=300))
    assert found["prompt_tokens"] == prompt
    assert found["tier"] == ("possible" if prompt > 49_152 else "ruled_out")


def test_a_prompt_shorter_than_its_cached_part_is_not_known(row):
    record = {"request_id": "a", "received_at": "2026-03-14T09:00:29Z", "completion_tokens": 9}
    found = row("g.ndjson", json.dumps(record | {"prompt_tokens": 12, "cached_tokens": 52_298}))
    assert (found["prompt_tokens"], found["tier"]) == (None, "not_assessable")


@pytest.mark.parametrize(("tokens", "known"), [(1, None), (52_310, 52_310)])
def test_a_single_token_that_a_cache_looked_up_may_be_a_placeholder(row, tokens, known):
    looked_up = {
        "timestamp": AT, "request_id": ID, "model_name": "m", "chunk_size": 256,
        "seq_len": tokens, "chunk_hashes": ["0xab"],
    }  # fmt: skip
    assert row("lookup.jsonl", json.dumps(looked_up))["prompt_tokens"] == known
    start = "(EngineCore_0 pid=612) [2026-03-14 09:00:29,617] LMCache INFO: Reqid: chatcmpl-"
    rest = "LMCache hit tokens: 0, need to load: 0 (x.py:1:lmcache)"
    found = row("vllm-0.log", f"{start}{ID}, Total tokens {tokens}, {rest}")
    assert found["prompt_tokens"] == known
