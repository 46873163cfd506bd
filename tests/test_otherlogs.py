"""One response in two logs of one side, under no common id: listed twice, and it is said."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import forensics
from forensics.incident import parse

MILLIS = 1_770_120_000_123
Judge = Callable[..., forensics.Case]


def trace(name: str = "own", **values: Any) -> dict[str, Any]:
    told = {"request_id": name, "request_received_ms": MILLIS, "input_tokens": 50_000}
    ended = {"schema": "dynamo.request.trace.v1", "event_type": "request_end"}
    return ended | {"request": told | {"output_tokens": 9} | values}


def decode(name: str = "d", **values: Any) -> dict[str, Any]:
    told = {
        "hop": "decode",
        "request_id": name,
        "decode_prompt_tokens": 50_000,
        "decode_node": "d1",
    }
    return told | {"received_at": "2026-02-03T12:00:00.900Z", "completion_tokens": 9} | values


@pytest.fixture
def case(tmp_path: Path) -> Judge:
    def read(traces: list[dict[str, Any]], records: list[dict[str, Any]]) -> forensics.Case:
        for name, rows in (("trace.jsonl", traces), ("plain.ndjson", records)):
            (tmp_path / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        return forensics.read_logs(
            tmp_path, incident=parse({"trigger": {"threshold_tokens": 40_000}})
        )

    return read


def told(case: forensics.Case) -> tuple[int, int, bool]:
    head = case.exposure().headline
    return case.requests.polars().height, head.bound.high, "listed twice" in head.sentence


def test_the_only_two_that_are_alike_count_once_at_the_most(case: Judge) -> None:
    assert told(case([trace()], [decode()])) == (2, 1, True)


@pytest.mark.parametrize(
    "other",
    [
        {"decode_prompt_tokens": 50_001},
        {"completion_tokens": 8},
        {"received_at": "2026-02-03T12:00:03Z"},
    ],
    ids=["size", "answer", "time"],
)
def test_what_differs_is_another_one(case: Judge, other: dict[str, Any]) -> None:
    assert told(case([trace()], [decode(**other)])) == (2, 2, False)


def test_where_it_is_not_told_which_the_count_stays_and_it_is_said(case: Judge) -> None:
    assert told(case([trace()], [decode(completion_tokens=None)])) == (2, 2, True)
    assert told(case([trace("a"), trace("b")], [decode()])) == (3, 3, True)


def test_two_records_of_one_log_are_two(case: Judge) -> None:
    longer = trace(input_tokens=60_000)
    assert told(case([longer], [decode("a"), decode("b")])) == (3, 3, False)


def test_what_both_show_for_certain_is_certain_once(case: Judge) -> None:
    short = {"reserved_pages": 782, "transferred_pages": 1}
    room = {"hop": "prefill", "request_id": "p", "transfer_id": "77", "prefill_prompt_tokens": 1}
    room |= {"received_at": "2026-02-03T12:00:00.800Z", "prefill_node": "p1"}
    found = case([trace()], [room, decode(transfer_id="77", **short)])
    assert found.requests.polars().sort("request_id")["tier"].to_list() == ["probable", "possible"]
    bound = found.exposure().headline.bound
    assert (bound.low, bound.high) == (1, 1)
