"""Which side of a hand-off a record is of: the node's role tells it before the answer's form."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

import forensics

NodeLogs = Callable[..., forensics.Case]
NOON = 1_788_264_000
"""2026-09-01T12:00:00Z; the nodes log in UTC."""
ROOM = 4_000_000_000_000_000_000
NO_TOKENS = {"type": "length", "length": 0}
ZONE = '[logs]\ntimezone = "UTC"\n'


def moment(at: int, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    return datetime.fromtimestamp(NOON + at, UTC).strftime(form)


def started(role: str, at: int = -600) -> str:
    return (
        f"[{moment(at)}] server_args=ServerArgs(model_path='m', "
        f"disaggregation_mode='{role}', page_size=64)"
    )


def answer(rid: str, room: int | None, at: int, prompt: int, **meta: Any) -> str:
    stamp = moment(at, "%Y-%m-%dT%H:%M:%S.%f")
    told = {"id": rid, "prompt_tokens": prompt, "completion_tokens": 0, "cached_tokens": 0}
    obj = {"rid": rid, "bootstrap_room": room, "text": "CANARY-PROMPT"}
    out = {"text": "CANARY-ANSWER", "meta_info": told | {"finish_reason": NO_TOKENS} | meta}
    return json.dumps(
        {"timestamp": stamp, "event": "request.finished", "rid": rid, "obj": obj, "out": out}
    )


def row(case: forensics.Case, request: str) -> dict[str, Any]:
    rows = {r["request_id"]: r for r in case.requests.polars().to_dicts()}
    return rows[request]


@pytest.mark.parametrize(("role", "side"), [("decode", "decode"), ("null", "decode")])
@pytest.mark.parametrize("tokens", [0, 1])
def test_an_answer_of_no_tokens_is_of_the_node_that_gave_it(
    node_logs: NodeLogs, role: str, side: str, tokens: int
) -> None:
    """``max_new_tokens=0`` ends a request with a length of 0 on decode as well."""
    asked = answer("d", ROOM, 10, 5_000, completion_tokens=tokens)
    found = row(node_logs({"node-01": [started(role), asked]}, ZONE), "d")
    assert (found["decode_node"], found["prefill_node"]) == ("node-01", None)
    assert (found["decode_prompt_tokens"], found["prefill_prompt_tokens"]) == (5_000, None)
    assert found["completion_tokens"] == tokens
    assert ("not_delivered" in found["reasons"]) == (tokens == 0)


def test_the_role_parts_the_two_sides_of_one_hand_off(node_logs: NodeLogs) -> None:
    logs = {
        "p-01": [started("prefill"), answer("p", ROOM, 10, 1, completion_tokens=1)],
        "d-01": [started("decode"), answer("d", ROOM, 10, 5_000, completion_tokens=1)],
    }
    found = row(node_logs(logs, ZONE), "d")
    assert (found["prefill_node"], found["decode_node"]) == ("p-01", "d-01")
    assert (found["tier"], found["reasons"]) == ("probable", ["placeholder_prefill"])


def test_an_answer_without_a_reason_is_prefills_on_a_prefill_node(node_logs: NodeLogs) -> None:
    logs = {"p-01": [started("prefill"), answer("p", ROOM, 10, 5_000, finish_reason=None)]}
    found = row(node_logs(logs, ZONE), "p")
    assert (found["prefill_node"], found["decode_node"]) == ("p-01", None)
    assert (found["prefill_prompt_tokens"], found["completion_tokens"]) == (5_000, None)
    assert found["tier"] == "not_assessable"


def test_the_role_is_that_of_the_boot_in_which_the_answer_was_given(node_logs: NodeLogs) -> None:
    logs = {
        "n-01": [
            started("prefill", -600),
            answer("first", ROOM, 10, 4_000),
            started("decode", 600),
            answer("second", ROOM + 1, 610, 5_000),
        ]
    }
    case = node_logs(logs, ZONE)
    assert row(case, "first")["prefill_node"] == "n-01"
    assert row(case, "second")["decode_node"] == "n-01"


def test_without_a_role_the_form_of_the_answer_tells_the_side(node_logs: NodeLogs) -> None:
    logs = {"n-01": [answer("p", ROOM, 10, 5_000), answer("d", ROOM + 1, 10, 70, **STOPPED)]}
    case = node_logs(logs, ZONE)
    assert (row(case, "p")["prefill_node"], row(case, "p")["completion_tokens"]) == ("n-01", None)
    assert row(case, "d")["decode_node"] == "n-01"


STOPPED = {"finish_reason": {"type": "stop"}, "completion_tokens": 30}


def test_a_log_of_both_sides_has_no_single_role(node_logs: NodeLogs) -> None:
    """Both servers write to one file, of which one start line is left."""
    logs = {
        "all-01": [
            started("decode"),
            answer("p", ROOM, 10, 1, completion_tokens=1),
            answer("d", ROOM, 10, 5_000, **STOPPED),
        ]
    }
    found = row(node_logs(logs, ZONE), "d")
    assert (found["tier"], found["reasons"]) == ("probable", ["placeholder_prefill"])


def test_a_line_that_states_another_side_leaves_the_role_open(node_logs: NodeLogs) -> None:
    """A server may change its role as it runs."""
    stated = (
        f"[{moment(5)} DP0 TP0 EP0] ReqTimeStats(rid=s, bootstrap_room={ROOM + 7}, "
        "input_len=900, cached_input_len=0, output_len=3, attempts=0, type=decode): "
        f"bootstrap_duration=15.00ms, forward_duration=980.00ms, entry_time={NOON + 4}.000"
    )
    stopped = answer("d", ROOM + 1, 10, 70, **STOPPED)
    case = node_logs({"n-01": [started("prefill"), stated, stopped]}, ZONE)
    assert row(case, "d")["decode_node"] == "n-01"


def test_a_repeated_room_does_not_turn_a_decode_node_into_prefills(node_logs: NodeLogs) -> None:
    """Of the answers of a log of both sides most are there twice; here one is."""
    twice = [answer("a", ROOM, 10, 5_000), answer("b", ROOM, 20, 5_000, **STOPPED)]
    more = [answer(f"m{n}", ROOM + 1 + n, 30, 50, **STOPPED) for n in range(3)]
    case = node_logs({"d-01": [started("decode"), *twice, *more]}, ZONE)
    assert case.requests.polars()["prefill_node"].null_count() == 5
