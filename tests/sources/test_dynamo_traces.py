"""Dynamo's request traces: enriched and compact records, and none of what they hold besides."""

import json
from typing import Any

import pytest

MILLIS = 1_770_120_000_123


def record(event: str = "request_end", session: str | None = None, **request: Any) -> str:
    known = {"request_id": "own-1", "request_received_ms": MILLIS, "output_tokens": 9}
    return json.dumps(
        {
            "schema": "dynamo.request.trace.v1",
            "event_type": event,
            "event_time_unix_ms": MILLIS + 900,
            **({} if session is None else {"agent_context": {"session_id": session}}),
            "request": known | request,
        }
    )


@pytest.fixture
def row(read):
    def run(line: str, **incident: Any) -> dict[str, Any]:
        (found,) = read(f"{line}\n", "trace.jsonl", form="dynamo", **incident).rows.to_dicts()
        return found

    return run


def test_times_are_milliseconds_of_utc(row):
    found = row(record())
    assert found["received_at"] == MILLIS * 1_000
    assert found["finished_at"] == (MILLIS + 900) * 1_000
    assert found["naive"] is False


def test_the_clients_id_goes_before_dynamos_own(row):
    assert row(record(x_request_id="a-1"))["request_id"] == "a-1"
    assert row(record())["request_id"] == "own-1"


def test_the_length_that_is_replayed_stands_in_for_the_prompts(row):
    replay = {"trace_block_size": 64, "input_length": 128, "input_sequence_hashes": [2**64 - 1]}
    assert row(record(replay=replay))["prompt_tokens"] == 128
    assert row(record(replay=replay, input_tokens=130))["prompt_tokens"] == 130


def test_hashes_of_64_bits_and_odd_values_break_no_record(read):
    lines = [
        record(replay={"input_length": 128, "input_sequence_hashes": [2**64 - 1, 2**53 + 1]}),
        record(request_id="own-2", input_tokens="77", prefill_time_ms="soon"),
        record(request_id="own-3", input_tokens=[7]),
    ]
    seen = read("\n".join(lines), "trace.jsonl")
    assert seen.column("prompt_tokens") == [128, 77, None]
    assert seen.facts.bad_values["prompt_tokens"] == 1


@pytest.mark.parametrize(
    ("worker", "prefill", "decode"),
    [
        ({"prefill_worker_id": 31, "prefill_dp_rank": 2, "decode_worker_id": 47}, "31/dp2", "47"),
        ({"decode_worker_id": 2**63 + 5, "decode_dp_rank": 0}, None, f"{2**63 + 5}/dp0"),
        ({}, None, None),
    ],
)
def test_workers_are_named_with_their_ranks(row, worker, prefill, decode):
    found = row(record(worker=worker))
    assert (found["prefill_node"], found["decode_node"]) == (prefill, decode)


@pytest.mark.parametrize(
    ("reason", "output", "told", "tokens"),
    [
        ("stop", 9, "stop", 9),
        ("cancelled", 3, "abort", 3),
        ("cancelled", 0, "abort", 0),
        ("error", 0, "error", None),
        ("CANARY stop string", 4, "other", 4),
    ],
)
def test_how_it_ended(row, reason, output, told, tokens):
    ended = {"finish_reason": reason, "stop_reason": "CANARY"}
    found = row(record(output_tokens=output, finish_reason_metadata=ended))
    assert (found["finish_reason"], found["completion_tokens"]) == (told, tokens)


@pytest.mark.parametrize(
    ("stated", "tenant"),
    [
        ((), None),
        (("agent_context.session_id",), "team-a"),
        (("request.team", "agent_context.session_id"), "team-a"),
        (("request.team",), None),
    ],
)
def test_a_tenant_only_where_the_incident_says_so(read, stated, tenant):
    seen = read(record(session="team-a:s-1") + "\n", "t.jsonl", logs={"tenant_from": stated})
    assert seen.column("tenant_id") == [tenant]


def test_records_of_other_kinds_are_counted_by_kind(read):
    kinds = ["request_payload", "tool_start", "tool_end", "tool_error", "CANARY"]
    seen = read("\n".join([record(), *map(record, kinds)]), "trace.jsonl")
    assert seen.facts.ignored == {
        "payload of a request": 1,
        "tool record": 3,
        "other record": 1,
    }
    assert seen.facts.kept == 1


def test_zero_prefill_time_is_none(row):
    assert row(record(prefill_time_ms=0.0, input_tokens=5))["prefill_ms"] is None
