"""Client records that may be of an affected response: each tenant is listed, and no count is high.

Traffic of few sizes is made with its truth: what was affected, and whose it was.
"""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

import forensics

CaseOf = Callable[..., forensics.Case]
Row = dict[str, Any]
LIMIT = "[trigger]\nthreshold_tokens = 50000\n"
POOL = {"node": "p1", "role": "prefill", "pool_tokens": 50_000, "page_tokens": 64,
        "engine": "sglang", "disaggregated": True}  # fmt: skip


def at(second: float) -> str:
    whole, part = divmod(round(second * 1000), 1000)
    return f"2026-03-02T{8 + whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}.{part:03}Z"


def gateway(name: str, second: float, size: int, tenant: str | None, **more: Any) -> Row:
    told = {"hop": "gateway", "request_id": name, "received_at": at(second), "http_status": 200}
    told |= {"prompt_tokens": size, "completion_tokens": 9} | more
    return told if tenant is None else told | {"tenant_id": tenant}


def prefill(room: str, second: float, size: int, **more: Any) -> Row:
    told = {"hop": "prefill", "request_id": f"p{room}", "transfer_id": room, "prefill_node": "p1"}
    return told | {"received_at": at(second), "prefill_prompt_tokens": size} | more


def decode(room: str, second: float, size: int, **more: Any) -> Row:
    told = {"hop": "decode", "request_id": f"d{room}", "transfer_id": room, "decode_node": "d1"}
    told |= {"received_at": at(second), "decode_prompt_tokens": size, "completion_tokens": 9}
    return told | more


def recipients(case: forensics.Case) -> dict[str | None, str]:
    return {one.tenant_id: one.tier for one in case.exposure().recipients}


def test_tries_of_which_no_decode_record_is_left_have_their_tenant(case_of: CaseOf) -> None:
    """Of one request, two rooms; which of them the gateway's record is of, nothing tells."""
    sure = []
    for n in range(12):
        sure += [gateway(f"r{n}", 60 * n, 1000 + n, "other")]
        whole = {"transfer_status": "complete", "transferred_pages": 16, "prompt_tokens": 1000 + n}
        sure += [prefill(str(100 + n), 60 * n + 0.2, 1000 + n, **whole)]
    refused = {"rejected": True, "rejection_code": "input_too_long", "prompt_tokens": 70_000}
    tries = [prefill(str(room), 800 + room, 1, **refused) for room in (1, 2)]
    case = case_of(POOL, *sure, gateway("aff", 800, 70_000, "victim"), *tries)
    found = recipients(case)
    assert (found[None], found["victim"]) == ("possible", "possible")
    assert case.exposure().headline.bound.high == 2
    assert case.exposure().headline.recipients == 1


def test_what_a_gateway_and_an_engine_both_show_is_certain_once(case_of: CaseOf) -> None:
    """Its own record is evidence, so that it joins none; it may be of the same response."""
    refused = {"rejected": True}
    calls = [gateway(f"g{n}", n, 70_000, f"T{n}", **refused) for n in (0, 1)]
    case = case_of(*calls, prefill("1", 1, 1), decode("1", 1, 70_000), incident=LIMIT)
    tiers = case.requests.polars()["tier"].to_list()
    assert tiers == ["probable"] * 3
    bound = case.exposure().headline.bound
    assert (bound.low, bound.high) == (2, 2)
    assert "1 fewer at the least" in bound.sentence


def test_a_clock_that_nothing_tells_hides_no_tenant(case_of: CaseOf) -> None:
    """Five minutes apart nothing joins; of another size, or half an hour, nobody is meant."""
    short = {"reserved_pages": 10, "transferred_pages": 2}
    engine = [prefill("1", 1300, 640), decode("1", 1300, 640, **short)]
    calls = [gateway("g", 1000, 640, "A"), gateway("h", 1000, 650, "B")]
    case = case_of(POOL, *calls, gateway("i", 3200, 640, "C"), *engine)
    assert recipients(case)["A"] == "possible"
    assert recipients(case)[None] == "probable"
    assert not {"B", "C"} & {name for name, tier in recipients(case).items() if tier == "possible"}


def test_a_record_without_a_size_may_be_any_of_its_minute(case_of: CaseOf) -> None:
    short = {"reserved_pages": 10, "transferred_pages": 2}
    tries = [prefill("1", 10, 640), decode("1", 10, 640, **short)]
    calls = [gateway(name, 9, 0, name) for name in "AB"] + [gateway("C", 300, 0, "C")]
    sizeless = [{k: v for k, v in call.items() if k != "prompt_tokens"} for call in calls]
    found = recipients(case_of(POOL, *tries, *sizeless))
    assert (found["A"], found["B"], found["C"]) == ("possible", "possible", "not_assessable")


@pytest.mark.parametrize("tenant", ["A", None])
def test_a_record_that_names_no_tenant_is_cleared_no_sooner(
    case_of: CaseOf, tenant: str | None
) -> None:
    short = {"reserved_pages": 10, "transferred_pages": 2}
    records = [prefill("1", 10, 640), decode("1", 10, 640, **short)]
    calls = [("g", 640), ("h", 640), ("k", 900)]
    case = case_of(POOL, *records, *(gateway(name, 9, size, tenant) for name, size in calls))
    tiers = dict(case.requests.polars().select("request_id", "tier").iter_rows())
    assert [tiers[name] for name in ("d1", "g", "h")] == ["probable", "possible", "possible"]
    assert tiers["k"] not in ("probable", "possible")


Response = tuple[str | None, frozenset[str]]
"""The tenant of an affected one, and the ids of its records."""


def traffic(seed: int, sizes: tuple[int, ...]) -> tuple[list[Row], list[Response]]:
    """Return records of requests that share no id with the gateway's, and what was affected."""
    random = Random(seed)
    records: list[Row] = []
    affected: list[Response] = []
    for n in range(14):
        second, size = random.uniform(0, 200), random.choice(sizes)
        tenant = random.choice(["A", "B", "C", "D", None])
        records += [gateway(f"g{n}", second, size, tenant)]
        over, tries = size > 50_000, 1 + (random.random() < 0.2)
        for room in range(tries):
            last, short = room == tries - 1, random.random() < 0.2
            second += random.uniform(0.1, 2)
            name, pages = f"{n + 1}{room}", -(-size // 64)
            sent = 1 if over else pages - 4 * short
            counted = {"transferred_pages": sent, "transfer_status": "complete"}
            records += [prefill(name, second, 1 if over else size, **counted)]
            answer = {} if last else {"completion_tokens": 0, "http_status": 503}
            records += [decode(name, second + 0.1, size, reserved_pages=pages, **answer)]
            own = frozenset({f"g{n}", f"p{name}", f"d{name}"})
            affected += [(tenant, own)] if last and (over or short) else []
    return records, affected


def test_bounds_hold_the_truth_and_no_tenant_is_missing(case_of: CaseOf) -> None:
    for seed, sizes in enumerate([(640,), (640, 60_000), (640, 650, 700, 60_000)]):
        records, affected = traffic(seed, sizes)
        case = case_of(POOL, *records)
        bound = case.exposure().headline.bound
        assert bound.low <= len(affected) <= bound.high
        told = {name for name, tier in recipients(case).items() if tier != "not_assessable"}
        assert {tenant for tenant, _ in affected} <= told | {None}


@pytest.mark.long
@pytest.mark.parametrize("seed", range(40))
def test_where_records_were_lost_nobody_is_missing_either(case_of: CaseOf, seed: int) -> None:
    """Of what no record is left the bound says nothing, nor of a tenant whose record is gone."""
    records, affected = traffic(seed, (640, 60_000))
    left = [record for record in records if Random(f"{seed} {record}").random() < 0.85]
    ids = {record["request_id"] for record in left}
    case = case_of(POOL, *left)
    bound = case.exposure().headline.bound
    assert bound.low <= sum(bool(own & ids) for _, own in affected) <= bound.high
    gateways = {record.get("tenant_id") for record in left if record["hop"] == "gateway"}
    assert {tenant for tenant, own in affected if own & ids} & gateways <= set(recipients(case))
