"""Several calls under one request id: a client can reuse it, and a router tries again."""

from collections.abc import Callable
from typing import Any

import pytest

import forensics

CaseOf = Callable[..., forensics.Case]


def record(hop: str | None, at: str = "2026-09-01T12:00:00Z", **values: Any) -> dict[str, Any]:
    return {"received_at": at} | ({"hop": hop} if hop else {}) | values


def rows(case: forensics.Case) -> list[dict[str, Any]]:
    return case.requests.polars().sort("request_id", "tenant_id", "attempt").to_dicts()


def call(at: str, size: int, **values: Any) -> dict[str, Any]:
    return record(
        "gateway", at, request_id="r", tenant_id="A", prompt_tokens=size, http_status=200, **values
    )


LIMIT = "[trigger]\nthreshold_tokens = 681280"
EARLY, LATER = "2026-09-01T12:00:00Z", "2026-09-01T12:10:00Z"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (call(EARLY, 700_000), call("2026-09-01T12:00:20Z", 500)),
        (call(EARLY, 700_000), call(LATER, 700_000)),
        (
            call(EARLY, 700_000, finished_at="2026-09-01T12:00:09Z"),
            call("2026-09-01T12:00:09Z", 700_000),
        ),
        (
            call(EARLY, 700_000, completion_tokens=5),
            call("2026-09-01T12:00:09Z", 700_000, completion_tokens=6),
        ),
        (
            call(EARLY, 700_000, finished_at="2026-09-01T12:00:50Z"),
            call("2026-09-01T12:00:09Z", 500, finished_at="2026-09-01T12:00:19Z"),
        ),
    ],
    ids=["size", "minutes", "after the end", "answer", "another prompt meanwhile"],
)
def test_a_second_call_under_one_id_is_an_attempt_of_its_own(
    case_of: CaseOf, first: dict[str, Any], second: dict[str, Any]
) -> None:
    found = rows(case_of(first, second, incident=LIMIT))
    assert [r["attempt"] for r in found] == [0, 1]
    assert [r["prompt_tokens"] for r in found] == [700_000, second["prompt_tokens"]]
    assert found[0]["tier"] == "possible"
    assert (found[1]["tier"] == "ruled_out") == (second["prompt_tokens"] == 500)


@pytest.mark.parametrize(
    "again",
    [
        call("2026-09-01T12:00:01Z", 690_000, finished_at="2026-09-01T12:00:49Z"),
        call("2026-09-01T12:00:09Z", 700_000),
        call("2026-09-01T12:00:09Z", 700_000) | {"http_status": 503},
        call(LATER, 700_000) | {"http_status": 429, "rejected": True},
        call(LATER, 690_000) | {"http_status": 429, "rejected": True},
    ],
    ids=["a gateway behind it", "logged twice", "a failed try", "a refused try", "a shorter one"],
)
def test_what_one_call_leaves_under_its_id_is_one_request(
    case_of: CaseOf, again: dict[str, Any]
) -> None:
    ended = {"finished_at": "2026-09-01T12:00:50Z"} if "finished_at" in again else {}
    (row,) = rows(case_of(call(EARLY, 700_000, **ended), again, incident=LIMIT))
    assert (row["prompt_tokens"], row["tier"]) == (700_000, "possible")


def test_engine_records_go_to_the_call_of_their_size_or_else_are_an_inference(
    case_of: CaseOf,
) -> None:
    calls = [call(EARLY, 500), call(LATER, 700_000)]
    decodes = [
        record("decode", at, request_id="r", decode_prompt_tokens=size, completion_tokens=9)
        for at, size in (("2026-09-01T12:09:30Z", 500), (LATER, 700_000))
    ]
    same = record("prefill", EARLY, request_id="r", prefill_prompt_tokens=500)
    short = record("prefill", LATER, request_id="r", prefill_prompt_tokens=1)
    found = rows(case_of(*calls, *decodes, same, short))
    assert [(r["tier"], r["prefill_prompt_tokens"]) for r in found] == [
        ("ruled_out", 500),
        ("possible", 1),
    ]
    assert "joined_by_inference" not in found[0]["reasons"]
    assert "joined_by_inference" in found[1]["reasons"]


def test_two_calls_under_one_id_are_told_apart_by_the_sizes_of_their_hand_offs(
    case_of: CaseOf,
) -> None:
    calls = [call(EARLY, 500), call(LATER, 700_000)]
    decodes = [
        record(
            "decode", at, request_id="r", transfer_id=room, decode_prompt_tokens=size,
            completion_tokens=9,
        )
        for at, room, size in ((EARLY, "2001", 500), (LATER, "1002", 700_000))
    ]  # fmt: skip
    found = rows(case_of(*calls, *decodes, incident=LIMIT))
    assert [(r["transfer_id"], r["prompt_tokens"], r["tier"]) for r in found] == [
        ("2001", 500, "ruled_out"),
        ("1002", 700_000, "possible"),
    ]


def test_a_retry_that_failed_before_its_size_was_logged_keeps_its_client_record(
    case_of: CaseOf,
) -> None:
    tries = [
        record("decode", EARLY, request_id="r", transfer_id="2001", completion_tokens=0),
        record(
            "decode", "2026-09-01T12:00:09Z", request_id="r", transfer_id="1002",
            decode_prompt_tokens=500, completion_tokens=9,
        ),
    ]  # fmt: skip
    found = rows(case_of(call(EARLY, 500), *tries))
    assert [(r["transfer_id"], r["tenant_id"]) for r in found] == [("2001", "A"), ("1002", "A")]


def test_a_gateway_that_counts_otherwise_still_speaks_for_all_attempts(case_of: CaseOf) -> None:
    tries = [
        record(
            "decode", f"2026-09-01T12:00:0{n}Z", request_id="r", transfer_id=room,
            decode_prompt_tokens=500, completion_tokens=9,
        )
        for n, room in ((1, "2001"), (2, "1002"))
    ]  # fmt: skip
    found = rows(case_of(call(EARLY, 480), *tries))
    assert [(r["transfer_id"], r["tenant_id"]) for r in found] == [("2001", "A"), ("1002", "A")]


def engines(at: str, computed: int, **more: Any) -> list[dict[str, Any]]:
    prefill = record(
        "prefill", at, request_id="r", prefill_node="p", prefill_prompt_tokens=computed
    )
    answer = {"decode_prompt_tokens": 25_000, "completion_tokens": 40} | more
    return [prefill, record("decode", at, request_id="r", decode_node="d", **answer)]


@pytest.mark.parametrize("second", [1, 25_000])
def test_two_calls_under_one_id_that_only_engines_logged(case_of: CaseOf, second: int) -> None:
    later = engines("2026-09-01T12:01:00Z", second)
    found = rows(case_of(*engines(EARLY, 25_000), *later, incident=LIMIT))
    assert [r["prefill_prompt_tokens"] for r in found] == [25_000, second]
    assert [r["tier"] for r in found] == ["ruled_out", "possible" if second == 1 else "ruled_out"]


def test_ranks_and_forms_of_one_call_that_only_engines_logged_are_one_request(
    case_of: CaseOf,
) -> None:
    again = engines("2026-09-01T12:00:01Z", 25_000)
    other_form = engines("2026-09-01T12:00:40Z", 25_000, finish_reason="stop")[1]
    assert len(rows(case_of(*engines(EARLY, 25_000), *again, other_form, incident=LIMIT))) == 1
