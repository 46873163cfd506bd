"""Dynamo's log: alone, in both layouts of its keys, and around request traces."""

import json

import pytest

CANARY = "CANARY tell me"
PREFILLED = "Prefill succeeded, using disaggregated params for decode"
BLOCKS = "Cache config values: {'num_gpu_blocks': 24064}"
TRACE = {
    "schema": "dynamo.request.trace.v1",
    "event_type": "request_end",
    "event_time_unix_ms": 1_770_120_001_000,
    "request": {"request_id": "own-1", "x_request_id": "a-1", "input_tokens": 50},
}


def line(message: str, **more: object) -> str:
    told = {"time": "2026-02-03T12:00:00.5Z", "level": "INFO", "target": "dynamo_llm::x"}
    return json.dumps(told | {"message": message} | more)


def python(message: str) -> str:
    """What the Python side says: its place stands under keys of its own."""
    place = {"log.file": "/opt/x/dynamo/vllm/main.py", "log.line": 7, "log.target": "main.run"}
    return line(message, target="log", **place)


TEXT = f"2026-02-03T12:00:00.500000Z  INFO main.run: {CANARY}"
COLOURED = f"\x1b[2m2026-02-03T12:00:00.500000Z\x1b[0m  INFO main.run: {CANARY}"


@pytest.mark.parametrize("first", [line(CANARY), python(CANARY)])
def test_it_is_told_by_the_programs_in_it(read, first):
    seen = read(f"{first}\n{line(PREFILLED, x_request_id='a-1')}\n", "frontend.log")
    assert (seen.facts.format, seen.facts.detected_by) == ("dynamo", "certain: JSON log of Dynamo")
    assert seen.column("request_id") == ["a-1"]
    assert dict(seen.facts.ignored) == {"other line": 1}


def test_blocks_without_their_size_are_no_pool(read):
    seen = read(f"{python(BLOCKS)}\n", "worker.log")
    assert dict(seen.facts.ignored) == {"number of blocks, without the size of one": 1}
    assert seen.reading.capacity == []


def test_lines_of_the_log_around_traces_are_counted_beside_them(read):
    lines = [TEXT, json.dumps(TRACE), line(CANARY), COLOURED, '{"schema":', json.dumps(TRACE)[9:]]
    seen = read("\n".join([*lines, line(PREFILLED, x_request_id="a-2")]) + "\n", "frontend.log")
    assert seen.column("request_id") == ["a-1", "a-2"]
    assert seen.column("line") == [2, 7]
    assert dict(seen.facts.ignored) == {"other line": 3}
    assert sorted(unread.line for unread in seen.facts.unread) == [5, 6]
    assert "CANARY" not in repr(seen.facts)


def test_a_log_of_another_program_is_not_dynamos(read):
    other = json.dumps({"time": "x", "level": "INFO", "target": "axum::serve", "message": "dynamo"})
    assert read(f"{other}\n", "app.log").facts.format is None
