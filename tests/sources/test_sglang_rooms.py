"""Rooms that are none: exact as text, or named as what cannot be read; never another number."""

from __future__ import annotations

import json

import pytest

RID = "a" * 32
AT = "2026-08-28 03:14:03"
LARGEST = str(2**63 - 1)
TOO_LONG = "12345678901234567890"


def record(room: str) -> str:
    told = {"rid": RID, "bootstrap_room": "@"}
    counts = {"id": RID, "finish_reason": {"type": "stop"}, "prompt_tokens": 5}
    whole = {"timestamp": f"{AT.replace(' ', 'T')}.001", "event": "request.finished", "rid": RID}
    whole |= {"obj": told, "out": {"meta_info": counts | {"completion_tokens": 6}}}
    return json.dumps(whole).replace('"@"', room)


FORMS = {
    "json": record,
    "text": lambda room: (
        f"[{AT}] Finish: obj=GenerateReqInput(rid='{RID}', bootstrap_room={room}), "
        f"out={{'meta_info': {{'id': '{RID}', 'finish_reason': {{'type': 'stop'}}, "
        "'prompt_tokens': 5, 'completion_tokens': 6}}"
    ),
    "stats": lambda room: (
        f"[{AT}] ReqTimeStats(rid={RID}, bootstrap_room={room}, input_len=5, cached_input_len=0, "
        "output_len=6, attempts=0, type=decode): bootstrap_duration=14.00ms, queue_duration=1.00ms,"
        " forward_duration=2530.00ms, entry_time=1787886846.032"
    ),
    "failure": lambda room: (
        f"[{AT} TP0] Decode transfer failed for request rank=0 decode_req.req.rid='{RID}' "
        f"decode_req.req.bootstrap_room={room} with exception "
        f"KVTransferError(bootstrap_room={room}): Aborted by AbortReq."
    ),
    "checksum": lambda room: (
        f"[{AT} TP0] KV checksum mismatch req={RID} bootstrap_room={room} expected=0x1 got=0x2"
    ),
    "collision": lambda room: (
        f"[{AT} TP0] Context corruption detected: Request {RID} (bootstrap_room={room}) received "
        "metadata from bootstrap_room=5. Metadata buffer index: 4. This indicates metadata buffer "
        "index collision."
    ),
    "release": lambda room: (
        f"[{AT} TP0] Deferred KV release for room {room} timed out after 30.0s without a full "
        "drain ack from prefill; releasing anyway."
    ),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("room", [LARGEST, str(2**53 + 1)])
def test_a_room_is_read_to_its_last_digit(read, form: str, room: str) -> None:
    seen = read(FORMS[form](room) + "\n", "decode-1/log")
    assert seen.facts.kept == 1
    assert room in seen.rows["transfer_id"].to_list()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("room", [TOO_LONG, "0x4ad12345678", "4ad12345678f", "9.2e18", "-5"])
def test_what_is_no_room_is_named_and_joins_nothing(read, form: str, room: str) -> None:
    seen = read(FORMS[form](room) + "\n", "decode-1/log")
    named = len(seen.facts.unread) + seen.facts.bad_values["transfer_id"]
    assert (seen.facts.read, named) == (1, 1)
    joined = set(seen.rows["transfer_id"].drop_nulls()) if seen.facts.kept else set()
    assert not joined - {"5"}
