"""Records per node and hour, missing hours, and what is said of the time since."""

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import forensics

CaseOf = Callable[..., forensics.Case]


def busy(hours: list[int], each: int, node: str = "d1") -> list[dict[str, Any]]:
    return [
        {
            "hop": "decode",
            "request_id": f"{node}-{hour}-{n}",
            "decode_node": node,
            "received_at": f"2026-09-01T{hour:02}:{n:02}:00Z",
            "http_status": 200,
        }
        for hour in hours
        for n in range(each)
    ]


@pytest.mark.parametrize(("each", "gaps"), [(20, 1), (19, 0)])
def test_an_empty_hour_is_a_gap_only_where_the_node_is_busy(
    case_of: CaseOf, each: int, gaps: int
) -> None:
    case = case_of(*busy([3, 4, 6, 7], each))
    table = case.coverage.polars()
    assert table.filter("gap").height == gaps
    assert table["records"].sum() == 4 * each
    said = any("node hour without a record" in f for f in case.exposure().headline.incomplete)
    assert said == bool(gaps)
    (node,) = case.exposure().coverage
    assert (node.hours, node.hours_with_records, node.gaps) == (5, 4, gaps)


def test_hours_before_the_first_and_after_the_last_record_are_no_gaps(case_of: CaseOf) -> None:
    case = case_of(*busy([3, 4], 30), *busy([6, 7], 30, node="d2"))
    assert not case.coverage.polars()["gap"].any()


POOL = {"node": "p1", "role": "prefill", "pool_tokens": 1000, "engine": "sglang"}


def long_one(hour: int, **values: Any) -> dict[str, Any]:
    return {
        "request_id": f"long-{hour}",
        "received_at": f"2026-09-01T{hour:02}:00:00Z",
        "prefill_node": "p1",
        "prompt_tokens": 5000,
        "reserved_pages": 80,
    } | values


AFFECTED = {"transferred_pages": 1, "completion_tokens": 9}
SERVED = {"transferred_pages": 80, "completion_tokens": 9}
UNSENT = {"transferred_pages": 1, "completion_tokens": 0}
REFUSED = {"rejected": True, "http_status": 400}
WINDOW = {"rejection_code": "context_exceeded"}


@pytest.mark.parametrize(
    ("records", "answer"),
    [
        ([], "cannot tell"),
        ([long_one(1, **AFFECTED)], "yes"),
        ([long_one(1, **AFFECTED), *busy([2, 3], 5)], "cannot tell"),
        ([long_one(1, **AFFECTED), long_one(2, **SERVED)], "no"),
        ([long_one(1, **SERVED), long_one(2, **AFFECTED)], "yes"),
        ([long_one(1, **AFFECTED), long_one(2, **UNSENT)], "yes"),
        ([long_one(1, **AFFECTED), long_one(2, **UNSENT), *busy([4], 5)], "cannot tell"),
        ([long_one(1, **AFFECTED), long_one(2, **SERVED), long_one(3, **UNSENT)], "yes"),
        ([long_one(1, **AFFECTED), long_one(2, **UNSENT), long_one(3, **REFUSED)], "no"),
        ([long_one(1, **AFFECTED), long_one(3, **REFUSED, **WINDOW)], "cannot tell"),
        ([long_one(1, **SERVED)], "no"),
    ],
)
def test_it_has_stopped_only_where_later_prompts_of_that_size_show_it(
    case_of: CaseOf, records: list[dict[str, Any]], answer: str
) -> None:
    ongoing = case_of(POOL, *records).exposure().headline.ongoing
    assert ongoing.answer == answer
    if records and records[0] == long_one(1, **AFFECTED):
        assert ongoing.last_affected_at == "2026-09-01T01:00:00.000000Z"


def test_the_funnel_narrows_and_the_days_add_up(case_of: CaseOf) -> None:
    case = case_of(POOL, long_one(1, **AFFECTED), long_one(2, **SERVED), *busy([3], 5))
    document = case.exposure()
    steps = [step.requests for step in document.funnel]
    assert steps == [7, 7, 2, 2]
    assert sum(day.requests for day in document.days) == 7
    assert sum(day.probable for day in document.days) == 1
    assert sum(cell.requests for cell in document.lengths) == 2
    assert {point.tier for point in document.points} == {"probable", "ruled_out"}
    assert document.headline.bound.low == 1
    assert pl.Series(r.requests for r in document.reasons).sum() > 0


def test_a_stamp_of_another_century_has_four_digits_for_its_year(case_of: CaseOf) -> None:
    odd = [row | {"received_at": "0826-09-01T03:00:00Z"} for row in busy([3], 1)]
    (node,) = case_of(*odd).exposure().coverage
    assert node.first_at == "0826-09-01T03:00:00.000000Z"
