"""Requests that were sent together, in one record of a request log: each is one of its own."""

import json
from typing import Any

import pytest

AT = "2026-02-03T04:08:00.001000"
ROOM = 2**62 + 7
PREFILL, STOP = {"type": "length", "length": 0}, {"type": "stop"}
DIFFER = "batch request whose lists are empty or not of one length"


def record(event: str, rid: object, room: object, **more: Any) -> str:
    texts = {"text": ["CANARY one", "CANARY two"], "input_ids": [[1, 2, 3], [4]]}
    obj = {"rid": rid, "bootstrap_room": room, "stream": False, **texts}
    return json.dumps({"timestamp": AT, "event": event, "rid": rid, "obj": obj, **more}) + "\n"


def answer(prompt: int, reason: object) -> dict[str, Any]:
    meta = {"prompt_tokens": prompt, "completion_tokens": 1, "finish_reason": reason}
    return {"text": "CANARY answer", "meta_info": meta}


def rows(seen, *names: str) -> list[tuple[object, ...]]:
    return sorted(seen.rows.select(names).iter_rows())


@pytest.mark.parametrize("prefix", ["", "[2026-02-03 04:08:00] "])
def test_an_arrival_of_several_is_an_arrival_of_each(read, prefix):
    headers = {"x-tenant-id": "acme"}
    line = record("request.received", ["a", "b"], [ROOM, ROOM + 1], headers=headers)
    seen = read(prefix + record("request.received", "z", 5) + prefix + line, form="sglang")
    assert (seen.facts.read, seen.facts.kept, seen.facts.bad_values) == (3, 3, {})
    assert rows(seen, "request_id", "transfer_id", "tenant_id", "line") == [
        ("a", str(ROOM), "acme", 2), ("b", str(ROOM + 1), "acme", 2), ("z", "5", None, 1),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "out",
    [
        [answer(1, PREFILL), answer(900, PREFILL)],
        {"meta_info": answer([1, 900], [PREFILL, PREFILL])["meta_info"]},
    ],
    ids=["a list of answers", "an answer of lists"],
)
def test_answers_in_one_record_are_told_apart(read, out):
    seen = read(record("request.finished", ["a", "b"], [ROOM, ROOM + 1], out=out), form="sglang")
    assert (seen.facts.read, seen.facts.kept, seen.facts.unread) == (2, 2, [])
    assert rows(seen, "request_id", "transfer_id", "hop", "prefill_prompt_tokens") == [
        ("a", str(ROOM), "prefill", 1), ("b", str(ROOM + 1), "prefill", 900),
    ]  # fmt: skip


def test_a_bare_reason_in_a_list_is_still_one(read):
    out = [answer(700_000, "stop"), answer(900, "stop")]
    seen = read(record("request.finished", ["a", "b"], [ROOM, ROOM + 1], out=out), form="sglang")
    assert rows(seen, "request_id", "finish_reason") == [("a", "stop"), ("b", "stop")]


@pytest.mark.parametrize("out", [[answer(1, STOP)], []], ids=["one answer", "none"])
def test_what_cannot_be_told_apart_is_unreadable_and_no_row(read, out):
    whole = record("request.received", ["a", "b"], [ROOM, ROOM + 1])
    seen = read(whole + record("request.finished", ["a", "b"], [ROOM, 8], out=out), form="sglang")
    assert (seen.facts.read, seen.facts.kept, seen.reasons) == (3, 2, {DIFFER: 1})
    assert [unread.line for unread in seen.facts.unread] == [2]


def test_an_id_that_is_an_object_is_no_batch(read):
    seen = read(record("request.received", {"a": 1}, ROOM), form="sglang")
    assert (seen.facts.kept, seen.facts.bad_values) == (1, {"request_id": 1})


def test_an_exporters_record_of_several_is_unreadable(read):
    inner = json.dumps({"bootstrap_room": [ROOM, ROOM + 1], "text": "CANARY"})
    lines = [
        json.dumps({"request_parameters": inner, "id": rid, "prompt_tokens": 5})
        for rid in ("z", ["a", "b"], "y")
    ]
    seen = read("\n".join((*lines, "")), form="sglang-exporter")
    assert (seen.facts.read, seen.facts.kept) == (3, 2)
    assert [(unread.line, unread.reason) for unread in seen.facts.unread] == [
        (2, "batch request in one record")
    ]
    assert rows(seen, "request_id", "line") == [("y", 3), ("z", 1)]


# --- in text ---------------------------------------------------------------------------


def text(rid: object, room: object) -> str:
    return (
        f"[2026-02-03 04:08:00] Receive: obj=GenerateReqInput(rid={rid!r}, text=['CANARY a', "
        f"\"CANARY, rid=['x']\"], input_ids=[[1, 2], [3]], bootstrap_room={room!r}, stream=True), "
        "headers={'x-tenant-id': 'acme'}\n"
    )


@pytest.mark.parametrize("rooms", [[ROOM, ROOM + 1], None])
def test_an_arrival_of_several_in_text(read, rooms):
    seen = read(text(["a", "b"], rooms) + text("z", 5), form="sglang")
    assert (seen.facts.read, seen.facts.kept, seen.facts.bad_values) == (3, 3, {})
    first, second = map(str, rooms) if rooms else (None, None)
    assert rows(seen, "request_id", "transfer_id", "tenant_id", "line") == [
        ("a", first, "acme", 1), ("b", second, "acme", 1), ("z", "5", "acme", 2),
    ]  # fmt: skip


@pytest.mark.parametrize("rooms", [[ROOM], ROOM, []])
def test_lists_in_text_that_do_not_fit_are_unreadable(read, rooms):
    seen = read(text(["a", "b"], rooms) + text("z", 5), form="sglang")
    assert (seen.facts.read, seen.facts.kept, len(seen.facts.unread)) == (2, 1, 1)


def test_answers_of_several_in_text_are_unreadable(read):
    line = (
        f"[2026-02-03 04:08:00] Finish: obj=GenerateReqInput(rid=['a', 'b'], bootstrap_room="
        f"[{ROOM}, 8]), out={{'meta_info': {{'prompt_tokens': 5}}}}\n"
    )
    seen = read(line, form="sglang")
    assert (seen.facts.read, seen.facts.kept, len(seen.facts.unread)) == (1, 0, 1)


# --- rooms ---------------------------------------------------------------------------


@pytest.mark.parametrize("room", ["0x1f", "1f", "room-1", "-5", "007", "٣", 2**64])
def test_a_room_that_is_no_decimal_number_is_counted_and_not_kept(read, room):
    """It still says that the request was handed off: its answer stays prefill's."""
    out = answer(1, PREFILL)
    lines = [record("request.finished", "a", room, out=out), text("t", room)]
    seen = read("".join(lines), form="sglang")
    assert seen.column("transfer_id") == [None, None]
    assert seen.facts.bad_values["transfer_id"] == 2
    assert seen.column("hop")[0] == "prefill"


@pytest.mark.parametrize("room", [0, 2**63 - 1, str(2**62)])
def test_a_room_in_decimal_is_one_as_a_number_or_a_text(read, room):
    seen = read(record("request.received", "a", room) + text("t", room), form="sglang")
    assert seen.column("transfer_id") == [str(room)] * 2
    assert not seen.facts.bad_values
