"""SGLang JSON request logs: every level, with and without a prefix, and what goes wrong in them."""

import json
from typing import Any

import pytest

ROOM = 2**63 - 5
ARRIVED = 1_770_091_680.0
MICROS = 1_770_091_680_000_000
CONTENT = {
    "text": "CANARY text",
    "input_ids": [1, 2, 3],
    "sampling_params": {"stop": ["CANARY stop"], "regex": "CANARY", "json_schema": "CANARY"},
}
LEVELS: dict[int, dict[str, Any]] = {
    0: {},
    1: {"sampling_params": CONTENT["sampling_params"]},
    2: CONTENT | {"input_ids": [1, "...", 3]},
    3: CONTENT,
}


def received(level: int = 0, **changed: Any) -> dict[str, Any]:
    obj = {"rid": "0d", "bootstrap_room": ROOM, "received_time": ARRIVED} | LEVELS[level]
    return {
        "timestamp": "2026-02-03T04:08:00.001000",
        "event": "request.received",
        "rid": "0d",
        "obj": obj,
    } | changed


def finished(level: int = 0, meta: dict[str, Any] | None = None, **changed: Any) -> dict[str, Any]:
    content = {"text": "CANARY out", "output_ids": [4]} if level >= 2 else {}
    logprobs = {"output_token_logprobs": [[-0.1, 7, "CANARY"]]} if level else {}
    inner = {
        "finish_reason": {"type": "stop", "matched": 154827},
        "prompt_tokens": 1830,
        "completion_tokens": 45,
        "cached_tokens": 0,
        "dp_rank": 7,
        "request_received_ts": ARRIVED + 0.5,
        "request_finished_ts": ARRIVED + 1.25,
    }
    record = received(level, event="request.finished", timestamp="2026-02-03T04:08:01.250000")
    return record | {"out": content | {"meta_info": inner | logprobs | (meta or {})}} | changed


HEALTHY_PREFILL = {
    "finish_reason": {"type": "length", "length": 0},
    "completion_tokens": 1,
    "cached_tokens": 16,
    "forward_entry_time": ARRIVED + 0.1,
    "prefill_finished_time": ARRIVED + 0.25,
}


@pytest.fixture
def log(read):
    def run(*records: dict[str, Any] | str, prefix: str = "", name: str = "engine-1.jsonl", **logs):
        lines = [r if isinstance(r, str) else prefix + json.dumps(r) for r in records]
        return read("\n".join((*lines, "")), name, **({"logs": logs} if logs else {}))

    return run


@pytest.mark.parametrize("prefix", ["", "[2026-02-03 04:08:00] ", "[2026-02-03 04:08:00 TP0] "])
@pytest.mark.parametrize("level", LEVELS)
def test_every_level_gives_the_same_and_no_content(log, level, prefix):
    seen = log(received(level), finished(level), prefix=prefix)
    assert seen.facts.format == "sglang"
    assert (seen.facts.read, seen.facts.kept) == (2, 2)
    first, last = seen.rows.sort("line").to_dicts()
    assert (first["request_id"], first["transfer_id"], first["hop"]) == ("0d", str(ROOM), "engine")
    assert first["received_at"] == MICROS
    assert last["hop"] == "decode"
    assert last["decode_node"] == "engine-1/dp7"
    assert (last["decode_prompt_tokens"], last["completion_tokens"]) == (1830, 45)
    assert last["finish_reason"] == "stop"
    assert (last["received_at"], last["finished_at"]) == (MICROS + 500_000, MICROS + 1_250_000)
    assert "CANARY" not in seen.rows.write_csv()


def test_length_zero_is_prefills_answer(log):
    (row,) = log(finished(meta=HEALTHY_PREFILL)).rows.to_dicts()
    assert row["hop"] == "prefill"
    assert (row["prefill_prompt_tokens"], row["decode_prompt_tokens"]) == (1830, None)
    assert row["cached_tokens"] == 16
    assert row["prefill_ms"] == pytest.approx(150)
    assert row["decode_node"] is None
    assert row["completion_tokens"] == 1, "the role of the node may still make it decode's"
    assert row["http_status"] is None


def test_a_real_length_is_decodes_answer(log):
    record = finished(meta={"finish_reason": {"type": "length", "length": 45}})
    assert log(record).column("hop") == ["decode"]


def test_length_zero_without_a_hand_off_is_no_prefill(log):
    record = finished(meta=HEALTHY_PREFILL)
    record["obj"]["bootstrap_room"] = None
    assert log(record).column("hop") == ["decode"]


def test_an_abort_is_told_by_its_pair(log):
    reason = {"type": "abort", "message": "CANARY said", "status_code": 400}
    seen = log(finished(meta={"finish_reason": reason, "completion_tokens": 0}))
    (row,) = seen.rows.to_dicts()
    assert row["hop"] == "engine"
    assert (row["rejected"], row["rejection_code"], row["http_status"]) == (True, "other", 400)
    assert row["completion_tokens"] is None
    assert "CANARY" not in str(row)


@pytest.mark.parametrize(("stream", "status"), [(True, None), (False, 503), ("odd", 503)])
def test_the_code_of_an_abort_is_not_what_the_client_of_a_stream_got(log, stream, status):
    reason = {"type": "abort", "message": "CANARY said", "status_code": 503}
    record = finished(meta={"finish_reason": reason, "completion_tokens": None})
    record["obj"]["stream"] = stream
    (row,) = log(record).rows.to_dicts()
    assert (row.get("http_status"), row["finish_reason"]) == (status, "abort")


def test_the_tenant_from_the_header_the_labels_or_the_stated_path(log):
    def tenants(*records, **logs):
        return log(*records, **logs).column("tenant_id")

    by_header = received(headers={"x-tenant-id": "a"})
    by_label = received(headers={"x-other": "z"})
    by_label["obj"]["custom_labels"] = {"tenant": "b"}
    odd = received(headers="none")
    odd["obj"]["custom_labels"] = {"tenant_id": "c"}
    assert tenants(by_header, by_label, odd, received()) == ["a", "b", "c", None]
    routed = received(headers={"x-smg-routing-key": "rk"})
    assert tenants(routed, tenant_from=["headers.x-smg-routing-key"]) == ["rk"]


def test_a_room_is_exact(log):
    rooms = [2**63 - 1, 2**63 - 2, 2**53 + 1]
    records = []
    for room in rooms:
        record = received()
        record["obj"]["bootstrap_room"] = room
        records.append(record)
    assert log(*records).column("transfer_id") == [str(room) for room in rooms]


@pytest.mark.parametrize("hours", [-8, 0, 5.75])
def test_the_wall_clock_is_compared_with_the_epoch_stamps(log, hours):
    second = int(ARRIVED) + round(hours * 3600)
    base = f"{second // 60 % 60:02d}:{second % 60:02d}"
    clock = f"{second // 3600 % 24:02d}:{base}"
    day = 3 + (second // 86_400 - int(ARRIVED) // 86_400)
    # isoformat() leaves the fraction out where it is zero.
    records = [
        received(timestamp=f"2026-02-{day:02d}T{clock}"),
        received(timestamp=f"2026-02-{day:02d}T{clock}.001000"),
    ]
    for order in (records, records[::-1]):
        seen = log(*order)
        assert dict(seen.reading.clock) == {("engine-1", round(hours * 3_600_000_000)): 2}


@pytest.mark.parametrize("stamp", ["CANARY no time", {"a": 1}, None, 5, ""])
def test_timestamps_that_are_none(log, stamp):
    seen = log(received(timestamp=stamp), received())
    assert seen.facts.kept == 2
    assert sum(seen.reading.clock.values()) == 1
    assert seen.column("received_at") == [MICROS] * 2


def test_without_epoch_stamps_the_wall_clock_is_naive(log):
    record = received()
    del record["obj"]["received_time"]
    seen = log(record)
    assert seen.column("received_at") == [1_770_091_680_001_000]
    assert seen.column("naive") == [True]


@pytest.mark.parametrize("value", ["CANARY words", {"a": 1}, [1], -1, 7.5, 1e300, 2**70])
def test_values_of_another_type_are_null_and_counted(log, value):
    names = ["prompt_tokens", "completion_tokens", "dp_rank"]
    seen = log(finished(meta=dict.fromkeys(names, value)), finished())
    assert seen.facts.kept == 2
    assert seen.column("decode_prompt_tokens") == [None, 1830]
    assert seen.column("completion_tokens") == [None, 45]
    assert seen.column("decode_node") == ["engine-1", "engine-1/dp7"]
    assert seen.facts.bad_values == dict.fromkeys(names, 1)


def test_whole_numbers_written_as_text_or_with_a_point(log):
    seen = log(finished(meta={"prompt_tokens": "1830", "completion_tokens": "45.0"}))
    assert seen.column("decode_prompt_tokens") == [1830]
    assert seen.column("completion_tokens") == [45]


@pytest.mark.parametrize("stamp", [1e12, 9.3e12, 1e300, -5, 0, "soon"])
def test_stamps_out_of_any_range_are_missing(log, stamp):
    meta = {"request_received_ts": stamp, "request_finished_ts": stamp}
    seen = log(finished(meta=meta), received())
    assert seen.facts.kept == 2
    assert seen.column("received_at") == [MICROS] * 2
    assert seen.column("finished_at") == [None, None]


@pytest.mark.parametrize("inner", ["CANARY", [1], 5])
def test_a_value_where_an_object_belongs_is_counted(log, inner):
    record = finished()
    record["out"] = {"meta_info": inner}
    seen = log(record, finished())
    assert seen.facts.kept == 2
    assert seen.column("decode_prompt_tokens") == [None, 1830]
    assert seen.facts.bad_values["prompt_tokens"] == 1


@pytest.mark.parametrize(
    ("reason", "hop", "told"),
    [
        ("stop", "decode", "stop"),
        ("abort", "engine", "abort"),
        ("CANARY words", "engine", "other"),
        (["CANARY"], "engine", "other"),
        (5, "engine", "other"),
        (None, "decode", None),
    ],
)
def test_a_finish_reason_may_be_a_bare_word(log, reason, hop, told):
    seen = log(finished(), finished(meta={"finish_reason": reason}), finished())
    assert seen.column("hop") == ["decode", hop, "decode"]
    assert seen.column("finish_reason") == ["stop", told, "stop"]
    assert seen.column("decode_prompt_tokens")[0] == 1830
    assert not isinstance(reason, str | None) or not seen.facts.bad_values
    assert "CANARY" not in seen.rows.write_csv() + repr(seen.facts)


def test_what_the_client_sent_and_other_records_are_passed_over(log):
    openai = {"event": "request.received.openai", "rid": "0d", "obj": {"messages": ["CANARY"]}}
    seen = log(received(), openai, {"event": "else"}, {"rid": "0d"}, {"event": 7}, {})
    assert seen.facts.kept == 1
    assert seen.facts.ignored == {"request as the client sent it": 1, "other record": 4}


def test_lines_that_are_no_json_keep_their_number_and_a_reason(log):
    seen = log(
        received(),
        '{"event": "request.finished", "rid": "CANARY',
        "{'event': 'request.finished'}",
        json.dumps(received()) + json.dumps(received()),
        '{"a": ' + "[" * 10_000 + "]" * 10_000 + "}",
    )
    assert {unread.line: unread.reason for unread in seen.facts.unread} == {
        2: "truncated JSON",
        3: "not valid JSON",
        4: "not valid JSON",
        5: "nested too deeply",
    }


def test_text_and_json_in_one_file(log):
    pool = "[2026-02-03 04:05:06 DP1 TP4] KV Cache is allocated. #tokens: 640, KV size: 1.0 GB"
    seen = log(pool, received(), pool, finished(), "{broken", name="prefill-03.log")
    assert seen.column("line") == [2, 4]
    assert [unread.line for unread in seen.facts.unread] == [5]
    assert seen.facts.read == 5


@pytest.mark.parametrize("path", ["rid", "obj", "obj.bootstrap_room", "rid.inner"])
def test_a_tenant_path_that_is_read_as_something_else_is_an_error(log, path):
    from forensics.errors import IncidentError

    with pytest.raises(IncidentError):
        log(received(), tenant_from=[path])


@pytest.mark.parametrize(
    "prefix",
    [
        "[2026-02-03 04:08:01] ",
        "2026-02-03 04:08:01] ",
        "(SGLangActor pid=123, ip=10.0.0.1) [2026-02-03 04:08:01] ",
        "[2026-02-03 04:08:01][request_logger.py:159][INFO]: ",
        "2026-02-03T04:08:01.938649Z  INFO request_logger.log_finished_request: ",
    ],
)
def test_a_record_behind_any_known_prefix(read, prefix):
    lines = [f"{prefix}{json.dumps(finished(2))}", "nothing", f"{prefix}nothing"]
    seen = read("\n".join((*lines, "")), "n.log", form="sglang")
    assert (seen.facts.kept, seen.facts.unread) == (1, [])
    (row,) = seen.rows.to_dicts()
    assert (row["transfer_id"], row["completion_tokens"]) == (str(ROOM), 45)
    for part in seen.reading.parts:
        assert b"CANARY" not in part.read_bytes()


def test_a_record_behind_a_prefix_that_nobody_knows_is_not_passed_over(read):
    text = f"INFO -- {json.dumps(finished(2))}\nINFO -- nothing\n"
    seen = read(text, "n.log", form="sglang")
    assert (seen.facts.kept, seen.facts.ignored) == (0, {"other line": 1})
    (unread,) = seen.facts.unread
    assert (unread.line, unread.reason) == (1, "request record behind an unknown prefix")
