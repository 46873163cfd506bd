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
        (4, [pool(900), request(prompt_tokens=901, http_status=200), marker("r")], "pass"),
        # No answer, or one that was refused, held nothing.
        (4, [pool(900), request(prompt_tokens=901), marker("r")], "not observable"),
        (
            4,
            [pool(900), request(prompt_tokens=901, http_status=503), marker("r")],
            "not observable",
        ),
        # As long as any prompt that fits: nothing could have come of it.
        (4, [pool(900), request(prompt_tokens=10), marker("r")], "not observable"),
        (4, [pool(900), request(), marker("r")], "not observable"),
        # No pool was too small, and no limit is stated: nobody knows how long is long enough.
        (4, [pool(2000), request(prompt_tokens=900), marker("r")], "not observable"),
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


def gate(tokens: int, at: str, *, passed: bool = True) -> dict[str, Any]:
    return pool(tokens, at, gate=passed)


CANARY = "2026-09-03T12:00:00Z"


def canary(request_id: str, *, seen: str | None = None, tenant: str = "lab-a") -> dict[str, Any]:
    """A marker that its own request brought back, or that another one showed."""
    return {
        "marker": f"m-{request_id}",
        "planted_request_id": request_id,
        "planted_tenant": tenant,
        "seen_request_id": seen or request_id,
        "seen_at": CANARY,
    }


def asked(request_id: str, **values: Any) -> dict[str, Any]:
    """A canary's own request, of a prompt over the limit that was, through p1."""
    known = {"request_id": request_id, "tenant_id": "lab-a", "received_at": CANARY}
    known |= {"prompt_tokens": 950}
    return known | {"prefill_node": "p1", "http_status": 200, "completion_tokens": 1} | values


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("records", "result"),
    [
        ([pool(900), pool(2000, LATER := "2026-09-02T00:00:00Z"), gate(2000, CANARY)], "pass"),
        ([pool(900), gate(2000, LATER)], "pass"),
        ([pool(900), pool(2000, LATER), gate(2000, CANARY, passed=False)], "fail"),
        ([gate(900, LATER), pool(2000, CANARY)], "not observable"),
        ([pool(900), pool(2000, LATER), gate(1249, CANARY)], "fail"),
    ],
)
def test_a_change_with_a_gate(case_of: CaseOf, records: list[dict[str, Any]], result: str) -> None:
    assert case_of(*records, request()).exposure().checklist[4].result == result


# Each property with logs that pass, that fail, and that cannot show it.
BOTH = {"sender_tenant": "t-1", "receiver_tenant": "t-1"}
OTHER = {"sender_tenant": "t-1", "receiver_tenant": "t-2"}
ANSWERED = {"http_status": 200, "completion_tokens": 5}
REFUSED = {"http_status": 503, "completion_tokens": 0}
FULL = {"reserved_pages": 9, "transferred_pages": 9, "transfer_status": "complete"}
CUT = {"reserved_pages": 9, "transferred_pages": 1}
PROPERTIES = {
    "admission": {
        "pass": [request(rejected=True, reserved_pages=0, http_status=400)],
        "fail": [request(rejected=True, reserved_pages=9, http_status=400)],
        "not observable": [request(rejected=True, http_status=400)],
    },
    "ownership": {
        "pass": [request(**BOTH, **ANSWERED), request(request_id="s", **OTHER, **REFUSED)],
        "fail": [request(**OTHER, **ANSWERED)],
        "not observable": [request(**BOTH, **ANSWERED)],
    },
    "completion": {
        "pass": [
            request(**FULL, **ANSWERED),
            request(request_id="s", **CUT, transfer_status="failed", **REFUSED),
        ],
        "fail": [request(**CUT, transfer_status="complete", **ANSWERED)],
        "not observable": [request(**FULL, **ANSWERED)],
    },
    "clean-up": {
        "pass": [
            request(reserved_pages=9, transfer_status="failed", released_at=CANARY, **REFUSED),
            asked("c"),
            canary("c"),
        ],
        "fail": [
            request(reserved_pages=9, transfer_status="failed", released_at=CANARY, **REFUSED),
            asked("c"),
            asked("d", tenant_id="lab-b"),
            canary("c", seen="d"),
        ],
        "not observable": [
            request(reserved_pages=9, transfer_status="failed", released_at=CANARY, **REFUSED)
        ],
    },
    "isolation tests": {
        "pass": [
            asked("c"),
            asked("d", tenant_id="lab-b", **REFUSED),
            canary("c"),
            canary("d", tenant="lab-b"),
        ],
        "fail": [asked("c"), asked("d", tenant_id="lab-b"), canary("c", seen="d")],
        "not observable": [asked("c"), canary("c")],
    },
    "observability": {
        "pass": [request(rejected=True, **REFUSED), request(request_id="s", **FULL, **ANSWERED)],
        "fail": [request(prefill_prompt_tokens=1, decode_prompt_tokens=900, **ANSWERED)],
        "not observable": [request(**ANSWERED)],
    },
}


@pytest.mark.parametrize(
    ("name", "result", "records"),
    [
        (name, result, records)
        for name, sets in PROPERTIES.items()
        for result, records in sets.items()
    ],
)
def test_property(case_of: CaseOf, name: str, result: str, records: list[dict[str, Any]]) -> None:
    found = {row.name: row for row in case_of(pool(2000), *records).exposure().properties}
    assert list(found) == list(PROPERTIES)
    assert found[name].result == result, found[name].evidence


@pytest.mark.parametrize(
    ("name", "records"),
    [
        # One transfer is called complete and has no counts.
        (
            "completion",
            [
                *PROPERTIES["completion"]["pass"],
                request(request_id="u", transfer_status="complete"),
            ],
        ),
        # Both kinds of requests, of one account alone.
        ("isolation tests", [asked("c"), asked("d", **REFUSED), canary("c"), canary("d")]),
    ],
)
def test_a_property_that_is_shown_in_part_is_not_shown(
    case_of: CaseOf, name: str, records: list[dict[str, Any]]
) -> None:
    found = {row.name: row for row in case_of(pool(2000), *records).exposure().properties}
    assert found[name].result == "not observable", found[name].evidence


SMALL_THEN_LARGE = [pool(900), pool(2000, LATER)]


@pytest.mark.few(5)
@pytest.mark.parametrize(
    ("records", "result", "because"),
    [
        ([], "not cleared", "no gate is recorded; no canary is recorded"),
        ([gate(2000, CANARY)], "not cleared", "no canary is recorded"),
        ([asked("c"), canary("c")], "not cleared", "no gate is recorded"),
        ([gate(2000, CANARY), asked("c"), canary("c")], "cleared", "a gate and a canary"),
        (
            [gate(2000, CANARY, passed=False), asked("c"), canary("c")],
            "not cleared",
            "a gate failed",
        ),
        (
            [gate(2000, CANARY), asked("c"), asked("d", tenant_id="lab-b"), canary("c", seen="d")],
            "not cleared",
            "a canary found a foreign marker",
        ),
        *(
            ([gate(2000, CANARY), asked("c", **none), canary("c")], "not cleared", "no canary is")
            for none in ({"http_status": 400}, {"completion_tokens": 0})
        ),
        # Both passed, but neither tested what the incident was about.
        (
            [gate(1100, CANARY), asked("c"), canary("c")],
            "not cleared",
            "a gate passed with a pool of 1.10 x the window, below 1.25 x",
        ),
        (
            [gate(2000, CANARY), asked("c", prompt_tokens=10), canary("c")],
            "not cleared",
            "no canary had a prompt of 901 tokens",
        ),
        # What ran before the change, or came back from a placeholder, tested nothing.
        (
            [gate(2000, CANARY), asked("c", received_at="2026-09-01T12:00:00Z"), canary("c")],
            "not cleared",
            "no canary is recorded",
        ),
        (  # Nor what was seen before it was asked for.
            [gate(2000, CANARY), asked("c", received_at="2026-09-04T12:00:00Z"), canary("c")],
            "not cleared",
            "no canary is recorded",
        ),
        (
            [gate(2000, CANARY), asked("c", prefill_prompt_tokens=1), canary("c")],
            "not cleared",
            "no canary",
        ),
        # A canary that another engine answered says nothing of this one.
        (
            [gate(2000, CANARY), asked("c", prefill_node="p2"), canary("c")],
            "not cleared",
            "no canary is recorded",
        ),
    ],
)
def test_a_changed_epoch_is_cleared_by_two_validations(
    case_of: CaseOf, records: list[dict[str, Any]], result: str, because: str
) -> None:
    *_, row = case_of(*SMALL_THEN_LARGE, *records, request()).exposure().validations
    assert (row.node, row.changed, row.result) == ("p1", "pool_tokens", result)
    assert because in row.reason


def test_a_foreign_marker_of_an_unknown_engine_clears_none(case_of: CaseOf) -> None:
    rows = [*SMALL_THEN_LARGE, gate(2000, CANARY), asked("c"), canary("c")]
    nowhere = canary("c", seen="never logged")
    (row,) = case_of(*rows, nowhere).exposure().validations
    assert (row.result, row.reason) == ("not cleared", "a canary found a foreign marker")


POOLS = """
[[pool]]
name = "match slots"
size = 8
largest_request = 16
damage = 4
[[pool]]
name = "avatars"
damage = 2
covers_largest = "shown"
[[pool]]
name = "sessions"
damage = 3
covers_largest = "shown"
rejects_first = "shown"
receiver_verifies = "shown"
evidence = "load test 12"
"""


def test_the_pool_audit_takes_an_assumed_answer_for_an_open_one(case_of: CaseOf) -> None:
    case = case_of(pool(900), request(rejected=True, http_status=200), incident=POOLS)
    rows = {row.pool: row for row in case.exposure().pools}
    assert list(rows) == ["prefill KV pool", "match slots", "sessions", "avatars"]
    answers = {
        name: (row.covers_largest, row.rejects_first, row.receiver_verifies, row.open)
        for name, row in rows.items()
    }
    assert answers == {
        "prefill KV pool": ("no", "no", "assumed", 3),
        "match slots": ("no", "assumed", "assumed", 3),
        "sessions": ("shown", "shown", "shown", 0),
        "avatars": ("assumed", "assumed", "assumed", 3),
    }


def test_what_the_ways_out_cost(case_of: CaseOf) -> None:
    asked_for = [
        request(request_id=str(n), tenant_id=f"t{n % 2}", prompt_tokens=tokens, **ANSWERED)
        for n, tokens in enumerate((500, 900, 950, 990))
    ]
    # A second try behind the edge is no further request to it.
    asked_for.append(asked_for[-1] | {"transfer_id": "9"})
    asked_for[-2]["transfer_id"] = "8"
    p1 = pool(894, engine="sglang", disaggregated=True)
    document = case_of(p1, p1 | {"node": "p2"}, *asked_for).exposure()
    (limit,) = document.limit_costs
    assert (limit.limit_tokens, limit.nodes, limit.requests, limit.tenants) == (888, 2, 3, 2)
    (larger,) = document.pool_costs
    assert (larger.pool_tokens, larger.needed_tokens) == (1788, 1250)
    assert (larger.nodes, larger.nodes_after, larger.given_up) == (2, 1, 1)
