"""Several requests under one hand-off's id, and records whose side is not known."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import forensics

CaseOf = Callable[..., forensics.Case]
ROOM = "5392444535701028124"


def record(hop: str | None, at: str = "2026-09-01T12:00:00Z", **values: Any) -> dict[str, Any]:
    return {"received_at": at} | ({"hop": hop} if hop else {}) | values


def rows(case: forensics.Case) -> list[dict[str, Any]]:
    return case.requests.polars().sort("request_id", "tenant_id", "attempt").to_dicts()


def sides(
    at: str, prefill: str, decode: str, prompt: int, counted: int, **values: Any
) -> list[dict[str, Any]]:
    """Both engine records of a hand-off under one room."""
    return [
        record(
            "prefill", at, request_id=prefill, transfer_id=ROOM, prefill_prompt_tokens=counted
        ),
        record(
            "decode", at, request_id=decode, transfer_id=ROOM, decode_prompt_tokens=prompt,
            completion_tokens=3, **values,
        ),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("second", "names", "counted"),
    [
        ({"decode": "d2"}, ["d1", "d2"], [1, 1]),
        ({"tenant_id": "B"}, ["d1", "d1"], [1, 1]),
        ({"prompt": 700_000}, ["d1", "d1"], [500, 1]),
    ],
    ids=["another id", "another tenant", "another size"],
)
def test_a_room_that_a_client_sent_twice_within_seconds_is_two_hand_offs(
    case_of: CaseOf, second: dict[str, Any], names: list[str], counted: list[int]
) -> None:
    """A size tells which of prefill's records is whose; time does not."""
    first = sides("2026-09-01T12:00:00Z", "p1", "d1", 500, 500, tenant_id="A")
    again = {"prompt": 500, "decode": "d1", "tenant_id": "A"} | second
    other = sides("2026-09-01T12:00:05Z", "p2", counted=1, **again)
    found = rows(case_of(*first, *other))
    assert [r["request_id"] for r in found] == names
    assert [r["prefill_prompt_tokens"] for r in sorted(found, key=by_time)] == counted
    assert sorted(r["tier"] for r in found) == [
        "possible" if counted == [1, 1] else "not_assessable",
        "possible",
    ]


@pytest.mark.parametrize(
    ("again", "tiers"),
    [
        ("12:59:59", ["not_assessable", "possible"]),
        ("13:00:00", ["not_assessable", "possible"]),
        ("13:00:01", ["ruled_out", "probable"]),
    ],
)
def test_time_alone_tells_uses_of_a_room_apart_from_an_hour_on(
    case_of: CaseOf, again: str, tiers: list[str]
) -> None:
    """Up to an hour it is an inference which of prefill's records is whose: it clears nobody."""
    first = sides("2026-09-01T12:00:00Z", "p1", "d1", 500, 500)
    second = sides(f"2026-09-01T{again}Z", "p2", "d2", 500, 1)
    found = sorted(rows(case_of(*first, *second)), key=by_time)
    assert [r["tier"] for r in found] == tiers


def by_time(row: dict[str, Any]) -> Any:
    return row["received_at"]


def test_a_size_that_one_record_lacks_does_not_part_it_from_its_own(case_of: CaseOf) -> None:
    prefill, decode = sides("2026-09-01T12:00:00Z", "p1", "d1", 500, 500)
    line = record(
        "decode", "2026-09-01T12:00:01Z", request_id="d1", transfer_id=ROOM,
        transfer_status="failed",
    )  # fmt: skip
    (row,) = rows(case_of(prefill, decode, line, decode | {"received_at": "2026-09-01T12:00:02Z"}))
    assert (row["tier"], "same_count" in row["reasons"]) == ("possible", True)


def test_prefill_records_that_contradict_each_other_clear_nobody(case_of: CaseOf) -> None:
    prefill, decode = sides("2026-09-01T12:00:00Z", "p1", "d1", 500, 500)
    other = prefill | {"request_id": "p2", "prefill_prompt_tokens": 1}
    (row,) = rows(case_of(prefill, other, decode))
    assert (row["tier"], row["reasons"]) == (
        "possible",
        ["joined_by_inference", "placeholder_prefill"],
    )
    (same,) = rows(case_of(prefill, prefill | {"request_id": "p2"}, decode))
    assert same["tier"] == "ruled_out"


def test_the_prefill_node_pairs_the_calls_of_one_trace(case_of: CaseOf) -> None:
    """Its node says which record is whose, so that is no inference."""
    prefills = [
        record(
            "prefill", f"2026-09-01T12:00:0{n}Z", request_id=f"p{n}", transfer_id="trace",
            prefill_node=node, prefill_prompt_tokens=counted,
        )
        for n, node, counted in ((1, "p-b", 500), (2, "p-a", 1))
    ]  # fmt: skip
    decodes = [
        record(
            "decode", f"2026-09-01T12:00:0{n}Z", request_id=f"d{n}", transfer_id="trace",
            prefill_node=node, decode_prompt_tokens=500, completion_tokens=3,
        )
        for n, node in ((1, "p-a"), (2, "p-b"))
    ]  # fmt: skip
    found = rows(case_of(*prefills, *decodes))
    assert [(r["request_id"], r["tier"]) for r in found] == [
        ("d1", "probable"),
        ("d2", "ruled_out"),
    ]
    for alike in (
        [*prefills, *(d | {"prefill_node": "p-a"} for d in decodes)],
        [*(p | {"prefill_node": "p-a"} for p in prefills), *decodes],
    ):
        found = rows(case_of(*alike))
        assert "probable" not in {r["tier"] for r in found}


def test_an_engine_record_of_unknown_side_takes_no_node_from_another(tmp_path: Path) -> None:
    """A record that names both nodes keeps them, whatever else is in the logs."""
    whole = record(
        "decode", request_id="r", transfer_id="9", prefill_node="p1", decode_node="d1",
        decode_prompt_tokens=700_000, completion_tokens=3,
    )  # fmt: skip
    (tmp_path / "plain.ndjson").write_text(json.dumps(whole) + "\n")
    (tmp_path / "p2.log").write_text(
        "[2026-09-01 12:00:00 DP0 TP0 EP0] Input length (690000 tokens) exceeds the maximum "
        "allowed length (681274 tokens). Use a shorter input or enable --allow-auto-truncate., "
        "self.rid='other'\n"
    )
    found = rows(forensics.read_logs(tmp_path))
    assert {r["request_id"]: (r["prefill_node"], r["decode_node"]) for r in found}["r"] == (
        "p1",
        "d1",
    )


@pytest.mark.parametrize("answered", [True, False])
def test_the_count_of_an_aborted_request_is_of_one_side_alone(
    tmp_path: Path, answered: bool
) -> None:
    """Its record does not say which: the other side's tells it, or nothing does."""
    aborted = {
        "timestamp": "2026-09-01T12:00:00.500000",
        "event": "request.finished",
        "rid": "d",
        "obj": {"rid": "d", "bootstrap_room": int(ROOM)},
        "out": {
            "meta_info": {
                "prompt_tokens": 700_000,
                "completion_tokens": 30,
                "finish_reason": {"type": "abort", "message": "CANARY-MESSAGE"},
            }
        },
    }
    (tmp_path / "x.log").write_text(json.dumps(aborted) + "\n")
    if answered:
        prefill = record("prefill", request_id="p", transfer_id=ROOM, prefill_prompt_tokens=1)
        (tmp_path / "p.ndjson").write_text(json.dumps(prefill) + "\n")
    (row,) = rows(forensics.read_logs(tmp_path))
    assert row["tier"] == ("probable" if answered else "not_assessable")
