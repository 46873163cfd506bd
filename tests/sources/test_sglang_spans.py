"""SGLang's traces: requests put together from spans in any order, without any content."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

SAMPLE = Path(__file__).parents[1] / "_data" / "sources" / "sglang_json" / "spans.jsonl"
LINES = SAMPLE.read_text().splitlines()
ROOM = 6066694201313984764
MICROS = 1_770_091_680_000_000
TRACE = "0000000000000000" + "1f2e3d4c5b6a7988"


def value(of: Any) -> dict[str, Any]:
    kinds = {bool: "boolValue", int: "intValue", float: "doubleValue", str: "stringValue"}
    return {kinds[type(of)]: str(of) if type(of) is int else of}


def span(name: str, own: str = "a1", parent: str = "", **attributes: Any) -> dict[str, Any]:
    listed = [{"key": key, "value": value(of)} for key, of in attributes.items()]
    return {
        "traceId": TRACE,
        "spanId": own,
        "parentSpanId": parent,
        "name": name,
        "startTimeUnixNano": "1770091680000000000",
        "endTimeUnixNano": "1770091680500000000",
        "attributes": listed,
    }


def root(role: str = "decode", **attributes: Any) -> dict[str, Any]:
    known = {"module": "sglang::request", "rid": "0a", "bootstrap_room": hex(ROOM)}
    return span(f"{role} Req 0a", **(known | attributes))


def document(*spans: Any) -> str:
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]})


@pytest.fixture
def log(read):
    def run(*spans: Any, name: str = "decode-1/spans.jsonl", **incident: Any):
        return read(document(*spans) + "\n", name, form="sglang-spans", **incident)

    return run


def test_both_sides_of_a_hand_off_in_one_file(read):
    seen = read(SAMPLE.read_bytes(), "traces.jsonl")
    assert (seen.facts.format, seen.facts.read, seen.facts.kept) == ("sglang-spans", 8, 5)
    assert seen.facts.ignored == {"other span": 3}
    prefill, decode = seen.rows.sort("line").to_dicts()
    assert (prefill["hop"], decode["hop"]) == ("prefill", "decode")
    assert prefill["transfer_id"] == decode["transfer_id"] == str(ROOM)
    assert (prefill["prefill_prompt_tokens"], decode["decode_prompt_tokens"]) == (1, 50_000)
    assert (prefill["prefill_ms"], decode["prefill_ms"]) == (65.0, None)
    assert (prefill["completion_tokens"], decode["completion_tokens"]) == (None, 12)
    assert (prefill["finish_reason"], decode["finish_reason"]) == (None, "stop")
    assert (decode["received_at"], decode["finished_at"]) == (MICROS + 2_000, MICROS + 1_000_000)
    assert decode["model"] == "glm-5.3"


def test_a_file_of_both_sides_names_no_engine(read):
    seen = read(SAMPLE.read_bytes(), "traces.jsonl")
    assert seen.column("prefill_node") + seen.column("decode_node") == [None] * 4
    assert seen.reading.capacity == []
    assert sum(seen.facts.notes.values()) == 1
    stated = read(SAMPLE.read_bytes(), "n1.jsonl", logs={"node_from": "(?P<node>n\\d)"})
    assert stated.column("prefill_node") == ["n1/dp3", None]


def test_the_order_of_documents_changes_nothing(read):
    def told(lines: list[str]) -> list[dict[str, Any]]:
        seen = read("\n".join(lines), "prefill-1.jsonl", form="sglang-spans")
        return seen.rows.drop("line").sort("request_id").to_dicts()

    lines = list(LINES)
    random.Random(3).shuffle(lines)
    assert lines != LINES
    assert told(lines) == told(LINES)
    assert told(LINES) == told([json.dumps(json.loads(line), indent=2) for line in LINES])


def test_one_sides_spans_are_of_the_node_that_the_path_names(log):
    seen = log(root(), span("Scheduler [TP 4]  [DP 3] (x)", "b", "a1", tp_rank=4, dp_rank=3))
    assert seen.column("decode_node") == ["decode-1/dp3"]
    (fact,) = seen.capacity.to_dicts()
    assert (fact["node"], fact["role"], fact["event"]) == ("decode-1/dp3", "decode", "role")
    assert fact["disaggregated"] is True


def test_ranks_that_differ_leave_the_server(log):
    threads = [span("Scheduler", f"b{rank}", "a1", dp_rank=rank) for rank in (1, 2)]
    assert log(root(), *threads).column("decode_node") == ["decode-1"]


@pytest.mark.parametrize(
    ("room", "transfer"),
    [
        (hex(2**63 - 1), str(2**63 - 1)),
        (hex(2**53 + 1), str(2**53 + 1)),
        (ROOM, str(ROOM)),
        ("5066694201313984764", TRACE),
        ("0xCANARY", TRACE),
        (0.5, TRACE),
    ],
)
def test_a_room_is_exact_or_the_trace_stands_for_it(log, room, transfer):
    seen = log(root(bootstrap_room=room))
    assert seen.column("transfer_id") == [transfer]
    assert seen.facts.bad_values["transfer_id"] == (transfer == TRACE)


def test_without_a_room_the_trace_is_what_both_sides_share(log):
    bare = span("decode Req 0a", module="sglang::request", rid="0a")
    seen = log(bare)
    assert seen.column("transfer_id") == [TRACE]
    assert seen.facts.bad_values["transfer_id"] == 0


def test_the_whole_id_is_taken_where_the_root_shortens_it(log):
    health = root(rid="77", **{"gen_ai.request.id": "HEALTH_CHECK_77"})
    assert log(health, root()).column("request_id") == ["HEALTH_CHECK_77", "0a"]


def test_unified_engines(log):
    bare = span(" Req 0a", module="sglang::request", rid="0a")
    seen = log(bare)
    assert seen.column("hop") == ["decode"]
    assert seen.capacity["role"].to_list() == ["unified"]
    assert seen.capacity["disaggregated"].to_list() == [False]


def test_an_abort_stands_on_a_thread(log):
    words = {"type": "abort", "message": "CANARY says", "reason": "CANARY", "abort_info": "CANARY"}
    counts = {"gen_ai.usage.completion_tokens": 0, "gen_ai.usage.prompt_tokens": 7}
    seen = log(root(**counts), span("Scheduler", "b", "a1", status_code=400, **words))
    (row,) = seen.rows.to_dicts()
    assert (row["rejected"], row["rejection_code"], row["http_status"]) == (True, "other", 400)
    assert (row["finish_reason"], row["completion_tokens"]) == ("abort", None)
    assert row["decode_prompt_tokens"] == 7
    assert "CANARY" not in repr(row)
    unclosed = span("Scheduler", "b", "a1", reason="CANARY have unclosed span", type="CANARY")
    assert log(root(), unclosed).column("rejection_code") == [None]


def test_forward_time_is_prefills_and_the_longest(log):
    thread = span("Scheduler", "b", "a1", dp_rank=0)
    short = span("prefill_forward", "c", "b") | {"endTimeUnixNano": "1770091680001000000"}
    seen = log(root("prefill"), thread, span("prefill_forward", "d", "b"), short)
    assert seen.column("prefill_ms") == [500.0]
    assert log(root("decode"), thread, short).column("prefill_ms") == [None]


def test_spans_without_their_request_are_counted(log):
    seen = log(
        span("Scheduler", "b", "a9", dp_rank=0),
        span("prefill_forward", "c", "b"),
        span("prefill_forward", "c", "z"),
    )
    assert seen.facts.ignored == {"span of a request that is not in the file": 3}
    assert seen.facts.kept == 0


def test_a_root_that_was_exported_twice_is_there_twice_with_the_same_values(log):
    thread = span("Scheduler", "b", "a1", dp_rank=3)
    first, second = log(root(), thread, root()).rows.drop("line").to_dicts()
    assert first == second
    assert first["decode_node"] == "decode-1/dp3"


def test_values_of_another_type_are_null_and_counted(log):
    prompt, cached = "gen_ai.usage.prompt_tokens", "gen_ai.usage.cached_tokens"
    for odd in ("CANARY", "12", 1.5, True):
        seen = log(root(**{prompt: odd, cached: odd}))
        assert seen.column("decode_prompt_tokens") == [None]
        assert seen.facts.bad_values["prompt_tokens"] == 1
    for odd in (-1, 2**63, 10**19):
        assert log(root(**{prompt: odd})).facts.bad_values["prompt_tokens"] == 1
    assert log(root(**{prompt: 2**63 - 1})).column("decode_prompt_tokens") == [2**63 - 1]


@pytest.mark.parametrize("reasons", ['["CANARY"]', '["stop"', "[]", "CANARY", 5])
def test_odd_finish_reasons(log, reasons):
    seen = log(root(**{"gen_ai.response.finish_reasons": reasons}))
    assert seen.column("finish_reason")[0] in (None, "other")


def test_no_attribute_that_may_hold_content_is_decoded(read, log):
    keys = ["gen_ai.input.messages", "gen_ai.prompt.0.content", "input.value", "message", "reason"]
    seen = log(root(**dict.fromkeys(keys, "CANARY words"), **{"gen_ai.request.id": "CANARY id"}))
    assert "CANARY" not in seen.rows.write_csv() + repr(seen.facts)
    assert seen.column("request_id") == ["redacted:spans.jsonl:1"]
    # Not even decoded: a value that fits no type is no fault of the span.
    odd = root()
    odd["attributes"].append({"key": "message", "value": {"stringValue": {"CANARY": []}}})
    assert read(document(odd), form="sglang-spans").facts.kept == 1


def test_damage_is_counted_and_takes_no_neighbour_along(read, log):
    seen = log(root(), {"traceId": 5}, {"traceId": "t", "spanId": "s", "attributes": "CANARY"}, 7)
    assert seen.facts.kept == 1
    assert seen.reasons == {"span not in a known form": 3}
    cut = LINES[3][:-40]
    seen = read("\n".join((*LINES[:3], cut, '{"a": 1}', "CANARY", LINES[3])), form="sglang-spans")
    assert seen.facts.kept == 5
    assert {u.line: u.reason for u in seen.facts.unread} == {
        4: "truncated JSON",
        5: "no list of spans",
        6: "not valid JSON",
    }


@pytest.mark.parametrize(
    "near",
    [
        document(span("llm_request", module="vllm::request")),
        document(span("POST /generate", module="smg")),
        '{"module": "sglang::request", "resourceLogs": []}',
        '"resourceSpans" and "sglang::request"\n',
    ],
)
def test_spans_of_other_products_are_not_told_as_these(read, near):
    assert read(near).facts.format is None
