"""LMCache's lookup files: ids, lengths and times, and no hash."""

import json

import pytest


def lookup(**fields: object) -> str:
    known = {
        "timestamp": 1770120000.25,
        "request_id": "chatcmpl-0f4b3c2a-1111-4222-8333-444455556666-a3b212e9",
        "model_name": "m-70b",
        "chunk_size": 256,
        "seq_len": 1024,
        "dtypes": ["CANARY"],
        "shapes": [[2, 16]],
        "chunk_hashes": ["0xCANARY"],
    }
    return json.dumps(known | fields)


def test_a_lookup(read):
    seen = read(f"{lookup()}\n", "lookup_hashes_20260203_143025_000003.jsonl")
    assert seen.facts.format == "lmcache-lookups"
    (row,) = seen.rows.to_dicts()
    assert row["request_id"] == "0f4b3c2a-1111-4222-8333-444455556666"
    assert (row["prompt_tokens"], row["received_at"]) == (1_024, 1_770_120_000_250_000)
    assert (row["hop"], row["model"]) == ("engine", "m-70b")
    assert row["prefill_node"] is row["decode_node"] is None
    for part in seen.reading.parts:
        assert b"CANARY" not in part.read_bytes()


def test_a_node_that_is_stated_is_one(read):
    pattern = "(?P<node>[^/]+)/lookup_hashes"
    seen = read(f"{lookup()}\n", "pod-3/lookup_hashes_1.jsonl", logs={"node_from": pattern})
    assert seen.column("prefill_node") == seen.column("decode_node") == ["pod-3"]


@pytest.mark.parametrize("absent", ["request_id", "seq_len"])
def test_a_record_without_id_or_length_is_counted(read, absent):
    seen = read(f"{lookup(**{absent: None})}\n{lookup()}\n", "lookups.jsonl")
    assert seen.facts.ignored == {"other record": 1}
    assert seen.facts.kept == 1
