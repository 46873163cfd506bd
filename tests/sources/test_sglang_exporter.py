"""SGLang's exporter: parameters in a string of their own, of which next to nothing is read."""

import json
from pathlib import Path
from typing import Any

import pytest

SAMPLE = Path(__file__).parents[1] / "_data" / "sources" / "sglang_json" / "exporter.jsonl"
RECORDS = [json.loads(line) for line in SAMPLE.read_text().splitlines()]
ROOM = 6066694201313984764
MICROS = 1_770_091_680_000_000
NAME = "prefill-03/sglang-request-metrics-20260203_04.log"


def record(at: int = 1, parameters: Any = None, **changed: Any) -> dict[str, Any]:
    """One record; ``parameters`` replaces the text, or adds to its object if it is one."""
    whole = dict(RECORDS[at])
    if isinstance(parameters, dict):
        parameters = json.dumps(json.loads(whole["request_parameters"]) | parameters)
    if parameters is not None:
        whole["request_parameters"] = parameters
    return whole | changed


@pytest.fixture
def log(read):
    def run(*records: dict[str, Any] | str, **logs: Any):
        lines = [r if isinstance(r, str) else json.dumps(r) for r in records]
        tables = {"logs": logs} if logs else {}
        return read("\n".join((*lines, "")), NAME, form="sglang-exporter", **tables)

    return run


def test_both_sides_by_the_shape_of_their_answers(read):
    seen = read(SAMPLE.read_bytes(), NAME)
    assert (seen.facts.format, seen.facts.read, seen.facts.kept) == ("sglang-exporter", 3, 3)
    prefill, decode, aborted = seen.rows.sort("line").to_dicts()
    assert (prefill["hop"], prefill["prefill_node"]) == ("prefill", "prefill-03/dp3")
    assert (prefill["prefill_prompt_tokens"], prefill["cached_tokens"]) == (1, 0)
    assert (prefill["transfer_id"], prefill["tenant_id"]) == (str(ROOM), "tenant-a")
    assert prefill["prefill_ms"] == pytest.approx(62.5)
    assert prefill["decode_node"] is prefill["decode_prompt_tokens"] is None
    assert (decode["hop"], decode["decode_node"]) == ("decode", "prefill-03/dp1")
    assert (decode["decode_prompt_tokens"], decode["completion_tokens"]) == (50_000, 12)
    assert (decode["received_at"], decode["finished_at"]) == (MICROS + 500_000, MICROS + 1_500_000)
    assert (aborted["hop"], aborted["rejected"], aborted["http_status"]) == ("engine", True, 400)
    assert aborted["completion_tokens"] is None
    assert not seen.rows["naive"].any()


def test_without_metrics_the_arrival_is_that_of_the_parameters(log):
    bare = {k: v for k, v in record().items() if not k.endswith(("_ts", "_time"))}
    (row,) = log(bare).rows.to_dicts()
    assert row["received_at"] == MICROS + 250_000
    assert row["finished_at"] is row["prefill_ms"] is None


@pytest.mark.parametrize(
    ("stated", "tenant"),
    [
        ("obj.routing_key", "rk-a"),
        ("request_parameters.routing_key", "rk-a"),
        ("routing_key", "rk-a"),
        ("obj.custom_labels.team", "team-b"),
        ("headers.x-tenant-id", None),
        ("obj.absent", None),
    ],
)
def test_a_tenant_is_where_the_incident_says(log, stated, tenant):
    labelled = record(parameters={"custom_labels": {"team": "team-b", "tenant": "other"}})
    assert log(labelled, tenant_from=[stated]).column("tenant_id") == [tenant]


def test_without_a_stated_path_keys_of_caches_and_routing_are_no_tenants(log):
    assert log(record()).column("tenant_id") == [None]


@pytest.mark.parametrize(
    "broken",
    [
        "CANARY no json",
        '{"bootstrap_room": 5',
        '["CANARY"]',
        "",
        "  ",
        '{"bootstrap_room":\n7}',
        7,
        {"bootstrap_room": 7},
        ["CANARY"],
    ],
)
def test_parameters_that_are_none_cost_the_room_alone(log, broken):
    odd = dict(RECORDS[1]) | {"request_parameters": broken}
    seen = log(record(0), odd, record(2))
    assert seen.facts.kept == 3
    assert seen.column("transfer_id") == [str(ROOM), None, str(ROOM + 1)]
    assert seen.column("decode_prompt_tokens") == [None, 50_000, None]
    assert seen.facts.bad_values["request_parameters"] == 1
    assert "CANARY" not in seen.rows.write_csv() + repr(seen.facts)


def test_rooms_and_arrivals_of_odd_types_stay_with_their_rows(log):
    rooms = [2**63 - 1, "77", {"a": 1}, None, 2**53 + 1]
    records = [record(parameters={"bootstrap_room": r, "received_time": "soon"}) for r in rooms]
    seen = log(*records, record())
    expected = [str(2**63 - 1), "77", None, None, str(2**53 + 1), str(ROOM)]
    assert seen.column("transfer_id") == expected
    assert seen.facts.bad_values == {"received_at": 5, "transfer_id": 1}


@pytest.mark.parametrize(
    ("word", "hop"), [("stop", "decode"), ("length", "decode"), ("abort", "engine")]
)
def test_a_finish_reason_may_be_a_bare_word(log, word, hop):
    seen = log(record(0), record(finish_reason=word), record(finish_reason=["CANARY"]))
    assert seen.column("hop") == ["prefill", hop, "engine"]
    assert seen.column("finish_reason")[1] == word
    assert seen.facts.kept == 3


def test_records_that_are_something_else(log):
    seen = log(record(), {"text": "CANARY"}, "{}", "[1]", '{"id": "x', "")
    assert (seen.facts.read, seen.facts.kept) == (5, 1)
    assert seen.facts.ignored == {"other record": 2}
    assert {u.line: u.reason for u in seen.facts.unread} == {
        4: "not a JSON object",
        5: "truncated JSON",
    }


def test_what_is_no_exporters_file_is_not_told_as_one(read):
    event = {"event": "request.finished", "rid": "0a", "out": {"text": json.dumps(record())}}
    assert read(json.dumps(event)).facts.format == "sglang"
    flat = {"request_id": "a", "received_at": "2026-02-03T04:05:06Z", "request_parameters": "{}"}
    assert read(json.dumps(flat)).facts.format == "plain-ndjson"
    assert read(json.dumps(dict(sorted(record().items())))).facts.format == "sglang-exporter"
