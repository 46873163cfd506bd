"""What one record of a rank says and another denies is not known, whichever came first."""

import json

import pytest

import forensics
from tests.attribution.made import DAY, POOL, hold, read, reasons, tiers

RADIX = "disaggregation_decode_enable_radix_cache"
WRITERS = [hold(f"w{n}", f"01:0{n}:00.512345", f"01:0{n}:01.587654") for n in range(6)]
SIZES = {"decode_prompt_tokens": 512, "reserved_pages": 8, "transferred_pages": 1}
READER = hold("x", "02:00:00.512345", "02:00:09.598765", **SIZES)
LATER = POOL | {"effective_at": f"{DAY}03:00:00Z"}

AGAINST = {
    "prefixes kept": ({"config": {RADIX: True}}, "settings_differ"),
    "tokens guessed": ({"config": "--speculative-algorithm EAGLE"}, "settings_differ"),
    "another page": ({"page_tokens": 128}, "page_size_differs"),
    "another engine": ({"engine": "vllm"}, "settings_differ"),
    "not apart": ({"disaggregated": False}, "settings_differ"),
    "another allocator": ({"allocator": "lifo"}, "settings_differ"),
    "the same": ({"config": {RADIX: False}}, None),
    "more": ({"config": {"tp_size": 8}, "engine_version": "0.5.19"}, None),
    "another start": ({"config": {RADIX: True}, "pool_tokens": 1_344}, None),
}


@pytest.mark.parametrize(("later", "reason"), AGAINST.values(), ids=AGAINST)
def test_a_record_from_after_the_read_may_deny_what_was_in_force(tmp_path, later, reason):
    case = read(tmp_path, POOL, *WRITERS, READER, LATER | later)
    assert reasons(case) == ({reason} if reason else set())
    assert ("probable" in tiers(case).values()) is (reason is None)


def test_a_record_of_the_server_may_deny_what_one_of_the_rank_says(tmp_path):
    ranked = [row | {"decode_node": "d1/dp0"} for row in (*WRITERS, READER)]
    rows = [POOL | {"node": "d1/dp0"}, *ranked]
    assert reasons(read(tmp_path, *rows, POOL)) == set()
    for other in ({"engine": "vllm"}, {"pool_tokens": 1_000}):
        assert reasons(read(tmp_path, *rows, POOL | other)) == {"settings_differ"}
    # What the rank's own leaves out nothing denies.
    assert reasons(read(tmp_path, *rows, POOL | {"config": {RADIX: True}})) == {"prefix_cache"}


def test_whoever_plays_decode_runs_apart(tmp_path):
    case = read(tmp_path, POOL | {"disaggregated": False}, *WRITERS, READER)
    assert "settings_differ" in reasons(case)


START = (
    "[2026-09-01 00:00:00] server_args=ServerArgs(model_path='m', page_size=64, {}"
    "disaggregation_mode='decode')\n"
    "[2026-09-01 00:00:20] KV Cache is allocated. #tokens: 640, K size: 0.1 GB, V size: 0.1 GB\n"
)
SAID = {
    "disaggregation_mode": "decode",
    "max_total_num_tokens": 640,
    "max_req_input_len": 634,
    "internal_states": [{}],
    "page_size": 64,
    "version": "0.5.19",
}
PARTS = {
    "nothing else": ({}, False, None),
    "prefixes kept, by it alone": ({RADIX: True}, False, "prefix_cache"),
    "prefixes kept, by it": ({RADIX: True}, True, "settings_unsure"),
    "another pool": ({"max_total_num_tokens": 1_344}, True, "settings_differ"),
}


@pytest.mark.parametrize(("said", "told", "reason"), PARTS.values(), ids=PARTS)
def test_a_snapshot_of_unknown_time_is_held_against_the_start_line(tmp_path, said, told, reason):
    """Whenever it was taken, it is of this run or of another: of this it is not sure then."""
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "d1.log").write_text(START.format(f"{RADIX}=False, " if told else ""))
    (logs / "d1.server_info.json").write_text(json.dumps(SAID | said))
    rows = "".join(json.dumps(row) + "\n" for row in (*WRITERS, READER))
    (logs / "rows.ndjson").write_text(rows)
    incident = tmp_path / "incident.toml"
    incident.write_text('[logs]\ntimezone = "UTC"\nnode_from = "(?P<node>d1)"\n')
    case = forensics.read_logs(logs, incident=incident)
    found = reasons(case)
    assert (reason in found) if reason else not found
    assert ("probable" in tiers(case).values()) is (reason is None)
