"""A hand-off that failed by one record, and was answered all the same by another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import forensics

CaseOf = Callable[..., forensics.Case]
AT, LATER = "2026-03-02T08:00:00Z", "2026-03-02T08:00:09Z"
POOL = {"node": "p", "role": "prefill", "engine": "sglang", "pool_tokens": 681_280}
SAID = {"request_id": "r", "transfer_id": "7", "tenant_id": "acme"}
PREFILL = SAID | {"hop": "prefill", "prefill_node": "p", "prefill_prompt_tokens": 5_000}
DECODE = SAID | {"hop": "decode", "decode_node": "d", "decode_prompt_tokens": 5_000}
SERVED = DECODE | {"completion_tokens": 40, "http_status": 200, "received_at": AT}
SERVED_ALL_THE_SAME = ["failed_but_served", "handoff_failed"]
FAILED = SAID | {"hop": "prefill", "prefill_node": "p", "transfer_status": "failed"}


def judged(case: forensics.Case) -> tuple[str, list[str]]:
    (row,) = case.requests.polars().iter_rows(named=True)
    return row["tier"], row["reasons"]


def record(base: dict[str, Any], **values: Any) -> dict[str, Any]:
    return {"received_at": AT} | base | values


@pytest.mark.parametrize("status", ["failed", "aborted"])
@pytest.mark.parametrize("hop", [PREFILL, DECODE | {"completion_tokens": 40}])
def test_counts_clear_nobody_whose_hand_off_failed(
    case_of: CaseOf, hop: dict[str, Any], status: str
) -> None:
    both = (record(PREFILL), SERVED)
    assert judged(case_of(POOL, *both)) == ("ruled_out", ["below_limit", "same_count"])
    failed = record(hop, transfer_status=status)
    kept = [row for row in both if row["hop"] != hop["hop"]]
    assert judged(case_of(POOL, *kept, failed)) == (
        "possible",
        [*SERVED_ALL_THE_SAME, "same_count"],
    )


def test_a_prompt_below_the_limit_is_possible_if_it_was_answered(case_of: CaseOf) -> None:
    assert judged(case_of(POOL, SERVED, record(FAILED))) == ("possible", SERVED_ALL_THE_SAME)


def test_an_answer_that_never_came_is_no_leak(case_of: CaseOf) -> None:
    nothing = SERVED | {"completion_tokens": 0, "http_status": 500}
    tier, reasons = judged(case_of(POOL, nothing, record(FAILED)))
    assert (tier, reasons) == ("ruled_out", ["handoff_failed", "not_delivered"])


def test_where_nothing_tells_of_an_answer_it_cannot_be_judged(case_of: CaseOf) -> None:
    unknown = {name: value for name, value in SERVED.items() if name != "http_status"}
    unknown = unknown | {"completion_tokens": None}
    tier, reasons = judged(case_of(POOL, unknown, record(FAILED)))
    assert tier == "not_assessable"
    assert "handoff_failed" in reasons


WHOLE = {"transfer_status": "complete", "reserved_pages": 79, "transferred_pages": 79}


def test_a_later_complete_transfer_of_the_same_attempt_undoes_the_failure(case_of: CaseOf) -> None:
    again = record(PREFILL, **WHOLE, received_at=LATER)
    tier, reasons = judged(case_of(POOL, SERVED, record(FAILED), again))
    assert (tier, reasons) == ("ruled_out", ["below_limit", "full_transfer", "same_count"])


def test_a_transfer_that_was_complete_before_the_failure_does_not(case_of: CaseOf) -> None:
    """It stays in the list of reasons; that all pages arrived clears it."""
    before = record(PREFILL, **WHOLE)
    tier, reasons = judged(case_of(POOL, SERVED, before, record(FAILED, received_at=LATER)))
    assert (tier, "handoff_failed" in reasons) == ("ruled_out", True)
    claimed = record(PREFILL, transfer_status="complete")
    tier, reasons = judged(case_of(POOL, SERVED, claimed, record(FAILED, received_at=LATER)))
    assert (tier, reasons) == ("possible", [*SERVED_ALL_THE_SAME, "same_count"])


def test_another_attempt_is_judged_by_itself(case_of: CaseOf) -> None:
    second = [row | {"transfer_id": "8"} for row in (record(PREFILL), SERVED)]
    rows = case_of(POOL, *second, record(FAILED)).requests.polars().sort("transfer_id")
    assert rows["reasons"].to_list()[-1] == ["below_limit", "same_count"]
    assert rows["tier"].to_list()[-1] == "ruled_out"
