"""Each form of the spans and of the other engines: one in it, a near miss, a malformed twin."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import polars as pl
import pytest

from forensics.sources.registry import by_name

FORMATS = (
    *("genai-spans", "dynamo", "llmd-router", "lmcache-lookups"),
    *("trtllm-metrics", "trtllm-transfers", "trtllm-log"),
)
CANARY = "CANARY-prompt"


@dataclass(frozen=True)
class Example:
    """Text of one form, what it is read as, and two texts that are not of it."""

    positive: str
    reads: dict[str, Any]
    near: str
    near_reads: list[str]
    malformed: str
    malformed_reads: list[str]


def span(name: str, scope: str, **attributes: Any) -> str:
    listed = [{"key": key, "value": value(of)} for key, of in attributes.items()]
    one = {
        "traceId": "AB12",
        "spanId": "cd34",
        "name": name,
        "startTimeUnixNano": "1770120000123456000",
        "attributes": listed,
        "status": {"message": CANARY},
        "events": [
            {"name": CANARY, "attributes": [{"key": "x", "value": {"stringValue": CANARY}}]}
        ],
    }
    return json.dumps(
        {"resourceSpans": [{"scopeSpans": [{"scope": {"name": scope}, "spans": [one]}]}]}
    )


def value(of: Any) -> dict[str, Any]:
    kinds = {bool: "boolValue", int: "intValue", float: "doubleValue", str: "stringValue"}
    if isinstance(of, list):
        return {"arrayValue": {"values": [value(one) for one in of]}}
    return {kinds[type(of)]: str(of) if type(of) is int else of}


def dynamo(event: str = "request_end", **request: Any) -> str:
    known = {"request_id": "own-1", "request_received_ms": 1_770_120_000_123, "output_tokens": 9}
    return json.dumps(
        {
            "schema": "dynamo.request.trace.v1",
            "event_type": event,
            "event_time_unix_ms": 1_770_120_001_000,
            "request": known | request,
            "payload": {"request": CANARY},
        }
    )


def dynamo_log(message: str, **fields: Any) -> str:
    said = {"time": "2026-02-03T12:00:00.5Z", "level": "DEBUG", "target": "dynamo_llm::kv_router"}
    return json.dumps(said | {"message": message, "uri": CANARY} | fields)


def epp(message: str, **fields: Any) -> str:
    return json.dumps(
        {"level": "info", "ts": 1770120000.5, "caller": "x:1", "msg": message} | fields
    )


def worker(blocks: int, **times: float) -> dict[str, Any]:
    return {
        "ctx_request_id": 7,
        "perf_metrics": {
            "timing_metrics": times,
            "kv_cache_metrics": {
                "num_total_allocated_blocks": blocks,
                "num_new_allocated_blocks": blocks,
                "num_reused_blocks": 0,
            },
        },
    }


PREFILL = worker(40, first_scheduled_time=10.0, first_token_time=10.25, last_token_time=10.25)
DECODE = worker(40, first_token_time=11.0, last_token_time=12.0, kv_cache_size=2**20)
BOTH = {
    "ctx_server": "10.9.4.1:8001",
    "gen_server": "10.9.4.2:8002",
    "disagg_request_id": 90,
    "ctx_perf_metrics": PREFILL,
    "gen_perf_metrics": DECODE,
    "status": CANARY,
}
HEADER = "RequestID,RequestInfo,Preparation,Preprocess,Transmissions,Postprocess,Delay,Duration"
START = {"model": "m-70b", "prompt_tokens": 50, "completion_tokens": 9}
POOL = "[MemUsageChange] Allocated 4.88 GiB for max tokens in paged KV cache (40000)."
LOOKUP = {"timestamp": 1770120000.5, "request_id": "cmpl-a-1-0", "seq_len": 50}

EXAMPLES = {
    "vllm-span": Example(
        span(
            "llm_request",
            "vllm.llm_engine",
            **{
                "gen_ai.request.id": "chatcmpl-a-1",
                "gen_ai.usage.prompt_tokens": 50,
                "gen_ai.usage.completion_tokens": 9,
                "gen_ai.latency.e2e": 0.9,
                "gen_ai.prompt": CANARY,
            },
        ),
        {"hop": "decode", "request_id": "a-1", "decode_prompt_tokens": 50, "completion_tokens": 9},
        span(
            "llm_request", "other.tracer", **{"note": "gen_ai.request.id", "gen_ai.prompt": CANARY}
        ),
        ["ignored other span"],
        span("llm_request", "vllm.llm_engine").replace('"traceId": "AB12"', '"traceId": 5'),
        ["unreadable span not in a known form"],
    ),
    "genai-span": Example(
        span(
            "chat m-70b",
            "x",
            **{
                "gen_ai.operation.name": "chat",
                "gen_ai.request.model": "m-70b",
                "gen_ai.response.id": "chatcmpl-a-1",
                "gen_ai.usage.input_tokens": 50,
                "gen_ai.usage.output_tokens": 9,
                "gen_ai.response.finish_reasons": ["stop", CANARY],
                "gen_ai.input.messages": CANARY,
            },
        ),
        {"hop": "gateway", "request_id": "a-1", "finish_reason": "stop"} | START,
        span("invoke_agent x", "x", **{"gen_ai.operation.name": "invoke_agent"}),
        ["ignored other span"],
        span("chat", "x", **{"gen_ai.operation.name": "chat"}).replace(
            '"attributes": [', '"attributes": [5,'
        ),
        ["unreadable span not in a known form"],
    ),
    "openinference-span": Example(
        span(
            "ChatCompletion",
            "x",
            **{
                "openinference.span.kind": "LLM",
                "llm.model_name": "m-70b",
                "llm.token_count.prompt": 50,
                "llm.token_count.completion": 9,
                "metadata": json.dumps({"tenant": "team-a", "note": CANARY}),
                "input.value": CANARY,
            },
        ),
        {"hop": "gateway", "request_id": "ab12-cd34", "transfer_id": "ab12", "tenant_id": "team-a"}
        | START,
        span("chain", "x", **{"openinference.span.kind": "CHAIN", "llm.token_count.prompt": 50}),
        ["ignored other span"],
        '{"resourceSpans": [{"scopeSpans": [{"spans": [{"openinference.span.kind": "CANARY"',
        ["unreadable truncated JSON"],
    ),
    "dynamo-request-end": Example(
        dynamo(
            x_request_id="a-1",
            model="m-70b",
            input_tokens=50,
            prefill_time_ms=4.5,
            worker={"prefill_worker_id": 31, "prefill_dp_rank": 0, "decode_worker_id": 47},
            finish_reason_metadata={"finish_reason": "stop", "stop_reason": CANARY},
        ),
        {
            "hop": "decode",
            "request_id": "a-1",
            "prefill_node": "31/dp0",
            "decode_node": "47",
            "prefill_ms": 4.5,
            "finish_reason": "stop",
            **START,
        },
        dynamo("request_payload", x_request_id="a-1"),
        ["ignored payload of a request"],
        dynamo()[:-1],
        ["unreadable truncated JSON"],
    ),
    "dynamo-request-end-compact": Example(
        dynamo(replay={"input_length": 50, "input_sequence_hashes": [2**64 - 1]}),
        {"hop": "decode", "request_id": "own-1", "prompt_tokens": 50, "completion_tokens": 9},
        dynamo("tool_end"),
        ["ignored tool record"],
        dynamo().replace('"own-1"', "{}"),
        # What is no id is named by its place, as any other record's.
        ["observation decode"],
    ),
    "dynamo-log-prefill": Example(
        dynamo_log(
            "Prefill succeeded, using disaggregated params for decode",
            x_request_id="a-1",
            trace_id="ab12",
        ),
        {
            "hop": "gateway",
            "request_id": "a-1",
            "received_at": 1_770_120_000_500_000,
            "transfer_id": None,
            "naive": False,
        },
        dynamo_log(f"Prefill succeeded, using {CANARY}", x_request_id="a-1"),
        ["ignored other line"],
        dynamo_log("Prefill succeeded, using disaggregated params for decode"),
        ["ignored line of a request without its id"],
    ),
    "llmd-request": Example(
        epp("Request handled", **{"x-request-id": "a-1", "incomingModelName": "m-70b"}),
        {"hop": "gateway", "request_id": "a-1", "model": "m-70b", "rejected": None},
        epp("Request handled at last", **{"x-request-id": "a-1", "body": CANARY}),
        ["ignored other line"],
        epp("Request handled", **{"x-request-id": "a-1"})[:-1],
        ["unreadable truncated JSON"],
    ),
    "llmd-refusal": Example(
        epp(
            "Rejecting request, queue at capacity",
            reqID="a-1",
            flowKey={"ID": "team-a", "Priority": 0},
            body=CANARY,
        ),
        {
            "request_id": "a-1",
            "tenant_id": "team-a",
            "rejected": True,
            "http_status": 429,
            "rejection_code": "capacity",
        },
        epp("Rejecting request", reqID="a-1", error=CANARY),
        ["ignored other line"],
        epp("Failed to process request", error=CANARY),
        ["ignored other line"],
    ),
    "trtllm-disaggregated": Example(
        json.dumps([BOTH]),
        {
            "request_id": "90",
            "transfer_id": "7",
            "reserved_pages": 40,
            "transfer_mb": 1.0,
            "prefill_node": "10.9.4.1:8001",
            "decode_node": "10.9.4.2:8002",
            "prefill_ms": 250.0,
            "transferred_pages": None,
            "finish_reason": None,
            "hop": None,
        },
        json.dumps([{"ctx_server": CANARY}]),
        ["unreadable no id of a request"],
        json.dumps([BOTH])[:-4],
        ["unreadable truncated JSON"],
    ),
    "trtllm-worker": Example(
        json.dumps(DECODE | {"request_id": 5}),
        {"hop": "decode", "request_id": "7", "transfer_id": "7", "reserved_pages": 40},
        json.dumps({"request_id": 5, "metrics": CANARY}),
        ["unreadable record not in a known form"],
        json.dumps({"request_id": {}, "perf_metrics": {}}),
        ["unreadable record not in a known form"],
    ),
    "trtllm-transfer": Example(
        f"{HEADER}\n800,0.6,0.09,0.29,3.39,0.16,1.0,3.39,39.63,1.5,2.25",
        {"hop": "engine", "request_id": "800", "transfer_id": "800"},
        f"800,0.6,0.09\n{HEADER}",
        ["ignored header", "unreadable row not in a known form"],
        "800,0.6,0.09,0.29,3.39,CANARY",
        ["unreadable row not in a known form"],
    ),
    "trtllm-pool": Example(
        f"[TensorRT-LLM][INFO] {POOL}\n[TensorRT-LLM][INFO] Number of tokens per block: 32.",
        {"node": "node-1", "pool_tokens": 40_000, "page_tokens": 32, "engine": "tensorrt-llm"},
        f"{POOL} CANARY",
        ["ignored other line"],
        "[TensorRT-LLM][INFO] Number of tokens per block: CANARY.",
        ["unreadable pool line cut off or not in a known form"],
    ),
    "lmcache-lookup-file": Example(
        json.dumps(LOOKUP | {"model_name": "m-70b", "chunk_hashes": [CANARY], "shapes": [[1]]}),
        {"hop": "engine", "request_id": "a-1", "prompt_tokens": 50, "model": "m-70b"},
        json.dumps({"timestamp": 1.5, "request_id": "a-1", "chunk_hashes": [CANARY]}),
        ["ignored other record"],
        json.dumps(LOOKUP)[:-1],
        ["unreadable truncated JSON"],
    ),
}
FORM_OF = {form.name: name for name in FORMATS for form in by_name(name).forms}


def became(seen) -> list[str]:
    hops = [] if not seen.rows.height else seen.rows["hop"].to_list()
    return sorted(
        [f"observation {hop}" for hop in hops]
        + [f"fact {event}" for frame in seen.reading.capacity for event in frame["event"]]
        + [f"ignored {kind}" for kind in seen.facts.ignored.elements()]
        + [f"unreadable {unread.reason}" for unread in seen.facts.unread]
    )


@pytest.fixture(params=EXAMPLES)
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def one(read, form) -> Callable[[str], Any]:
    return lambda text: read(f"{text}\n", "node-1.log", form=FORM_OF[form])


def assert_nothing_of_content(seen) -> None:
    for frame in (*seen.reading.capacity, seen.rows):
        assert "CANARY" not in frame.select(pl.all().cast(pl.String)).write_csv()
    for part in seen.reading.parts:
        assert b"CANARY" not in part.read_bytes()
    assert "CANARY" not in repr(seen.facts)


def test_every_form_has_its_examples():
    assert set(EXAMPLES) == set(FORM_OF)
    for name in FORMATS:
        for each in by_name(name).forms:
            texts = (each.name, each.title, each.versions, each.shows)
            assert all(text and text.strip() == text for text in texts)


def test_one_of_the_form(one, form):
    seen = one(EXAMPLES[form].positive)
    assert seen.facts.unread == []
    (row,) = (seen.rows if seen.rows.height else seen.capacity).to_dicts()
    assert {key: row.get(key) for key in EXAMPLES[form].reads} == EXAMPLES[form].reads
    assert_nothing_of_content(seen)


def test_it_is_told_by_its_content(read, form):
    seen = read(f"{EXAMPLES[form].positive}\n", "anything.txt")
    assert seen.facts.format == FORM_OF[form]


def test_a_near_miss(one, form):
    seen = one(EXAMPLES[form].near)
    assert became(seen) == sorted(EXAMPLES[form].near_reads)
    assert_nothing_of_content(seen)


def test_a_malformed_twin(one, form):
    seen = one(EXAMPLES[form].malformed)
    assert became(seen) == sorted(EXAMPLES[form].malformed_reads)
    assert_nothing_of_content(seen)
