"""JSON objects that are not one a line are read all the same, in every format that is."""

import json
from collections.abc import Callable
from typing import Any

import pytest

CANARY = "CANARY tell me }{ [{ \n of it"
PLAIN = [
    {"request_id": name, "tenant_id": "acme", "prompt_tokens": 5, "text": CANARY} for name in "abc"
]
DYNAMO = [
    {
        "schema": "dynamo.request.trace.v1",
        "event_type": "request_end",
        "event_time_unix_ms": 1_770_120_001_000,
        "request": {"request_id": name, "input_tokens": 5},
        "payload": {"request": CANARY},
    }
    for name in "abc"
]
LOOKUPS = [
    {"timestamp": 1770120000.5, "request_id": name, "seq_len": 5, "chunk_hashes": [CANARY]}
    for name in "abc"
]
RECORDS = {"plain-ndjson": PLAIN, "dynamo": DYNAMO, "lmcache-lookups": LOOKUPS}


def each(records: list[Any], between: str, indent: int | None = None) -> str:
    return between.join(json.dumps(record, indent=indent) for record in records)


LAID: dict[str, Callable[[list[Any]], str]] = {
    "back to back": lambda records: each(records, ""),
    "with a blank between": lambda records: each(records, " "),
    "in a list": json.dumps,
    "in a list over lines": lambda records: f"[{each(records, ',' + chr(10))}\n]\n",
    "in an indented list": lambda records: json.dumps(records, indent=2),
    "spread over lines": lambda records: each(records, "\n", 2) + "\n",
}


@pytest.mark.parametrize("name", RECORDS)
@pytest.mark.parametrize("lay", LAID.values(), ids=LAID)
def test_objects_laid_out_otherwise(read, name, lay):
    seen = read(lay(RECORDS[name]), "node-1.json")
    assert seen.facts.format == name
    assert seen.facts.unread == []
    assert seen.column("request_id") == ["a", "b", "c"]
    assert seen.column("line") == [1, 2, 3]
    assert "CANARY" not in repr(seen.facts)


@pytest.mark.parametrize("lay", ["back to back", "in a list over lines", "in a list"])
def test_what_is_cut_short_takes_no_other_object_with_it(read, lay):
    text = LAID[lay](DYNAMO).rstrip("\n]")
    seen = read(text[:-5], "node-1.json")
    assert seen.column("request_id") == ["a", "b"]
    assert [(unread.line, unread.reason) for unread in seen.facts.unread] == [(3, "truncated JSON")]


def test_after_a_damaged_object_the_next_line_that_begins_one_is_read(read):
    lines = [json.dumps(record) for record in DYNAMO]
    text = f"[{lines[0]},\n{lines[1][:-9]},\n{lines[2]}]"
    seen = read(text, "node-1.json")
    assert seen.column("request_id") == ["a", "c"]
    assert len(seen.facts.unread) == 1


def test_entries_that_are_no_objects_are_counted(read):
    seen = read(json.dumps([DYNAMO[0], "CANARY", 7]), "node-1.json")
    assert dict(seen.reasons) == {"not a JSON object": 2}
    assert seen.column("request_id") == ["a"]


def test_a_list_of_an_unknown_kind_is_told_by_its_shape(read):
    seen = read(json.dumps([{"CANARY": "CANARY"}] * 2), "node-1.json")
    assert (seen.facts.format, dict(seen.reasons)) == (None, {"no known format": 1})
    assert "CANARY" not in seen.facts.shape
