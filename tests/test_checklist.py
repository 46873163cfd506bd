"""The five items: each with logs that pass, fail and cannot show it."""

from collections.abc import Callable
from typing import Any

import pytest

import forensics

CaseOf = Callable[..., forensics.Case]


def pool(tokens: int, at: str = "2026-09-01T00:00:00Z", **values: Any) -> dict[str, Any]:
    return {
        "node": "p1",
        "role": "prefill",
        "effective_at": at,
        "pool_tokens": tokens,
        "context_tokens": 1000,
    } | values


def request(**values: Any) -> dict[str, Any]:
    return {"request_id": "r", "received_at": "2026-09-01T12:00:00Z"} | values


def marker(planted: str) -> dict[str, Any]:
    return {"marker": "ab12", "planted_request_id": planted, "seen_request_id": "r"}


SHORT = {"reserved_pages": 9, "transferred_pages": 1}


@pytest.mark.parametrize(
    ("item", "records", "result"),
    [
        (1, [pool(1250)], "pass"),
        (1, [pool(1249)], "fail"),
        (1, [pool(1250), pool(900, "2026-09-02T00:00:00Z")], "fail"),
        (1, [pool(900, role="decode")], "not observable"),
        (2, [request(rejected=True, http_status=400)], "pass"),
        (2, [request(rejected=True, http_status=200)], "fail"),
        (2, [request(rejected=True)], "not observable"),
        (2, [request(http_status=200)], "not observable"),
        (
            2,
            [request(prefill_prompt_tokens=1, decode_prompt_tokens=9, http_status=200)],
            "fail",
        ),
        (3, [request(**SHORT, http_status=503)], "pass"),
        (3, [request(**SHORT, http_status=200)], "fail"),
        (3, [request(reserved_pages=9, transferred_pages=9, http_status=200)], "not observable"),
        (3, [request(**SHORT)], "not observable"),
        (4, [request(), marker("r")], "pass"),
        (4, [request(), marker("another")], "fail"),
        (4, [request()], "not observable"),
        (5, [pool(2000), pool(900, "2026-09-02T00:00:00Z")], "fail"),
        (5, [pool(900), pool(2000, "2026-09-02T00:00:00Z")], "not observable"),
        (5, [pool(2000)], "not observable"),
    ],
)
def test_item(case_of: CaseOf, item: int, records: list[dict[str, Any]], result: str) -> None:
    checks = case_of(*records, request(request_id="other")).exposure().checklist
    assert [check.item for check in checks] == [1, 2, 3, 4, 5]
    assert checks[item - 1].result == result
    assert checks[item - 1].evidence
