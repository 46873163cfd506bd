"""What is left of a request whose decode record was lost: it counts once, and clears nobody."""

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import forensics

CaseOf = Callable[..., forensics.Case]
Row = dict[str, Any]
POOL = {"node": "p1", "role": "prefill", "pool_tokens": 50_000, "page_tokens": 64,
        "engine": "sglang", "disaggregated": True}  # fmt: skip
DAY = "2026-03-02T"


def ordinary(number: int, hour: int = 10) -> list[Row]:
    """One request that every hop logged, of a size of its own."""
    at = {"received_at": f"{DAY}{hour:02}:{number:02}:00Z"}
    room = {"transfer_id": f"{hour}{number:03}"}
    client = {"request_id": f"r{hour}-{number}", "http_status": 200, "completion_tokens": 5}
    size = 6_400 + number
    return [
        at | client | {"hop": "gateway", "tenant_id": "A", "prompt_tokens": size},
        at | room | client
        | {"hop": "decode", "decode_node": "d1", "decode_prompt_tokens": size}
        | {"reserved_pages": 100},
        at | room
        | {"hop": "prefill", "prefill_node": "p1", "prefill_prompt_tokens": size}
        | {"transferred_pages": 100, "transfer_status": "complete"},
    ]  # fmt: skip


@pytest.fixture(scope="module")
def rest() -> list[Row]:
    """Enough of them for the logs of all three hops to count as kept."""
    return [POOL, *(row for number in range(12) for row in ordinary(number))]


def of(case: forensics.Case, *ids: str) -> list[tuple[str, str | None, str]]:
    rows = case.requests.polars().filter(pl.col("request_id").is_in(ids))
    return sorted(rows.select("request_id", "tenant_id", "tier").rows())


def tried_twice(decode: Row, gateway: Row) -> list[Row]:
    """The first try was short; of the second, which was answered, prefill's record is left."""
    first, second = ({"received_at": f"{DAY}10:20:{s:02}Z"} for s in (0, 5))
    prefill = {"hop": "prefill", "prefill_node": "p1", "prefill_prompt_tokens": 640}
    return [
        first | {"hop": "gateway", "request_id": "twice", "tenant_id": "B", "prompt_tokens": 640}
        | {"finished_at": f"{DAY}10:20:09Z"} | gateway,
        first | {"hop": "decode", "request_id": "twice", "transfer_id": "91", "decode_node": "d1"}
        | {"decode_prompt_tokens": 640, "reserved_pages": 10} | decode,
        first | prefill | {"request_id": "p91", "transfer_id": "91", "transferred_pages": 3},
        second | prefill | {"request_id": "p92", "transfer_id": "92", "transferred_pages": 10},
    ]  # fmt: skip


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("decode", "gateway", "tier"),
    [
        ({"completion_tokens": 0}, {"completion_tokens": 30, "http_status": 200}, "possible"),
        ({"http_status": 503}, {"completion_tokens": 30, "http_status": 200}, "possible"),
        ({}, {"completion_tokens": 30, "http_status": 200}, "possible"),
        ({}, {"completion_tokens": 0, "http_status": 503}, "possible"),
        ({"completion_tokens": 4}, {"completion_tokens": 0, "http_status": 503}, "probable"),
    ],
    ids=["a zero", "a refusal", "nothing", "nothing, and a refusal", "tokens"],
)
def test_a_first_try_has_no_answer_from_a_later_one_that_was_lost(
    case_of: CaseOf, rest: list[Row], decode: Row, gateway: Row, tier: str
) -> None:
    case = case_of(*rest, *tried_twice(decode, gateway))
    assert of(case, "twice", "p92") == [("p92", None, "not_assessable"), ("twice", "B", tier)]
    assert {row.hop: row.lost for row in case.exposure().reach} == {
        "gateway": 0,
        "prefill": 0,
        "decode": 1,
    }


def halves(gateway: Row, prefill: Row) -> list[Row]:
    at = {"received_at": f"{DAY}10:30:00Z"}
    client = {"hop": "gateway", "request_id": "half", "tenant_id": "C", "prompt_tokens": 60_000}
    engine = {"hop": "prefill", "request_id": "p93", "transfer_id": "93", "prefill_node": "p1"}
    return [at | client | gateway, at | engine | prefill]


@pytest.mark.parametrize(
    ("gateway", "prefill", "found", "aside"),
    [
        (
            {"http_status": 200, "completion_tokens": 9},
            {"prefill_prompt_tokens": 1},
            ("half", "C", "possible"),
            (0, 1),
        ),
        (
            {"http_status": 200, "completion_tokens": 9},
            {"prefill_prompt_tokens": 1, "rejected": True},
            ("half", "C", "possible"),
            (0, 0),
        ),
    ],
    ids=["the client's stands", "evidence joins it"],
)
def test_what_two_hops_hold_of_one_request_counts_once(
    case_of: CaseOf,
    rest: list[Row],
    gateway: Row,
    prefill: Row,
    found: tuple[str, str | None, str],
    aside: tuple[int, int],
) -> None:
    case = case_of(*rest, *halves(gateway, prefill))
    assert of(case, "half", "p93") == [found]
    assert (case.analysis.unpaired, case.analysis.stood_for) == aside
    document = case.exposure()
    assert {row.hop: row.lost for row in document.reach if row.hop != "decode"} == {
        "gateway": 0,
        "prefill": 0,
    }
    assert sum(row.records for row in document.coverage if row.hop == "prefill") == 13
    assert document.headline.bound.high == 1 + sum(aside)


def test_a_refusal_stands_for_nobody(case_of: CaseOf, rest: list[Row]) -> None:
    refused = {"http_status": 503, "completion_tokens": 0}
    case = case_of(*rest, *halves(refused, {"prefill_prompt_tokens": 1}))
    assert of(case, "half", "p93") == [
        ("half", "C", "ruled_out"),
        ("p93", None, "not_assessable"),
    ]


def test_what_no_gateway_record_is_near_is_one_that_it_lacks(
    case_of: CaseOf, rest: list[Row]
) -> None:
    """The decode record and the gateway's were lost: neither's log holds the request."""
    _, alone = halves({}, {"prefill_prompt_tokens": 640})
    case = case_of(*rest, alone)
    assert {row.hop: row.lost for row in case.exposure().reach} == {
        "gateway": 1,
        "prefill": 0,
        "decode": 1,
    }
