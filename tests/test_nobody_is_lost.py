"""Shared ids, doubtful records and markers under another id: nobody is lost by them."""

from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import forensics
from forensics.cli import run

CaseOf = Callable[..., forensics.Case]
AT = "2026-09-01T12:00:00Z"
PREFILL = {"node": "p1", "role": "prefill", "pool_tokens": 681_280, "engine": "sglang"}
DECODE = {"node": "d1", "role": "decode", "pool_tokens": 1_146_880, "engine": "sglang"}


def record(hop: str | None, at: str = AT, **values: Any) -> dict[str, Any]:
    return {"received_at": at} | ({"hop": hop} if hop else {}) | values


def verdicts(case: forensics.Case) -> list[tuple[str, str | None, str]]:
    rows = case.requests.polars().sort("request_id", "tenant_id")
    return list(rows.select("request_id", "tenant_id", "tier").iter_rows())


def call(name: str, tenant: str, minute: int, prefill: int = 1) -> list[dict[str, Any]]:
    at = f"2026-09-01T12:{minute:02}:00Z"
    return [
        record("gateway", at, request_id=name, tenant_id=tenant, prompt_tokens=700_000),
        record(
            "prefill", at, request_id=f"p{name}", transfer_id="trace",
            prefill_prompt_tokens=prefill,
        ),
        record(
            "decode", at, request_id=name, transfer_id="trace",
            decode_prompt_tokens=700_000, completion_tokens=30,
        ),
    ]  # fmt: skip


def test_two_requests_under_one_trace_id_stay_two(case_of: CaseOf) -> None:
    case = case_of(*call("r1", "A", 0), *call("r2", "B", 10))
    # Prefill's ids are its own: which of its records is whose is told by time alone.
    assert verdicts(case) == [("r1", "A", "possible"), ("r2", "B", "possible")]


def test_a_sound_request_is_not_folded_with_a_short_one_of_its_trace(case_of: CaseOf) -> None:
    case = case_of(*call("r1", "A", 0), *call("r2", "B", 10, prefill=700_000))
    assert verdicts(case) == [("r1", "A", "possible"), ("r2", "B", "not_assessable")]


def test_two_tenants_under_one_id_and_trace_stay_two(case_of: CaseOf) -> None:
    rows = [
        record(
            "decode", f"2026-09-01T12:0{n}:00Z", request_id="r", transfer_id="trace",
            tenant_id=tenant, reserved_pages=9, transferred_pages=1, completion_tokens=3,
        )
        for n, tenant in enumerate("AB")
    ]  # fmt: skip
    assert verdicts(case_of(*rows)) == [("r", "A", "probable"), ("r", "B", "probable")]


def test_a_gateways_own_id_under_a_trace_is_no_second_request(case_of: CaseOf) -> None:
    case = case_of(
        record("gateway", request_id="gw", transfer_id="trace", tenant_id="A", http_status=200),
        record("prefill", request_id="pp", transfer_id="trace", prefill_prompt_tokens=1),
        record("decode", request_id="dd", transfer_id="trace", decode_prompt_tokens=70),
    )
    assert verdicts(case) == [("dd", "A", "probable")]


def test_a_small_room_with_more_than_a_warm_up_in_it_is_a_request(case_of: CaseOf) -> None:
    prefill = record(
        "prefill", request_id="r1", transfer_id="77", prefill_node="p1", prefill_prompt_tokens=1
    )
    decode = record(
        "decode", request_id="r1", transfer_id="77", decode_node="d1",
        reserved_pages=500, transferred_pages=1, http_status=200,
    )  # fmt: skip
    assert verdicts(case_of(PREFILL, DECODE, prefill, decode)) == [("r1", None, "probable")]


def test_a_client_cannot_hide_behind_the_name_of_a_health_check(case_of: CaseOf) -> None:
    named = record("gateway", request_id="HEALTH_CHECK_1", tenant_id="A", prompt_tokens=700_000)
    case = case_of(PREFILL, named | {"http_status": 200, "prefill_node": "p1"})
    assert verdicts(case) == [("HEALTH_CHECK_1", "A", "possible")]


HOPS = (
    record("gateway", request_id="gw", tenant_id="A", transfer_id="t", prompt_tokens=50),
    record("prefill", request_id="pp", transfer_id="t", prefill_prompt_tokens=50),
    record(
        "decode", request_id="dd", transfer_id="t", decode_prompt_tokens=50, completion_tokens=3
    ),
)


@pytest.mark.parametrize("seen", ["gw", "pp", "dd"])
def test_a_marker_may_name_the_request_by_any_of_its_ids(case_of: CaseOf, seen: str) -> None:
    marker = {"marker": "ab12", "planted_request_id": "other", "seen_request_id": seen}
    assert verdicts(case_of(*HOPS, marker)) == [("dd", "A", "confirmed")]
    own = marker | {"planted_request_id": "gw"}
    assert verdicts(case_of(*HOPS, own)) == [("dd", "A", "ruled_out")]


def test_a_marker_in_an_answer_that_no_log_holds_is_counted(case_of: CaseOf) -> None:
    marker = {"marker": "ab12", "planted_request_id": "other", "seen_request_id": "zzz"}
    head = case_of(*HOPS, marker).exposure().headline
    assert any("in requests that no log holds" in flag for flag in head.incomplete)
    assert (head.bound.low, head.bound.high) == (0, 1)


def test_a_marker_in_an_answer_without_an_id_is_counted(case_of: CaseOf) -> None:
    seen = {"marker": "ab12", "planted_request_id": "r", "seen_at": "2026-08-28T00:00:00Z"}
    head = case_of(*HOPS, seen).exposure().headline
    assert any("in requests that no log holds" in flag for flag in head.incomplete)
    planted = {"marker": "ab12", "planted_request_id": "r"}
    assert not case_of(*HOPS, planted).exposure().headline.incomplete


def test_a_marker_of_another_tenant_is_foreign(case_of: CaseOf) -> None:
    marker = {"marker": "ab12", "planted_tenant": "B", "seen_request_id": "dd"}
    assert verdicts(case_of(*HOPS, marker)) == [("dd", "A", "confirmed")]
    assert verdicts(case_of(*HOPS, marker | {"planted_tenant": "A"})) == [("dd", "A", "ruled_out")]


def slot(name: str, owner: str) -> dict[str, Any]:
    return record(
        None, request_id=name, tenant_id="A", http_status=200, reserved_pages=8,
        transferred_pages=8, owner_generation=3, read_generation=3, slot_owner=owner,
    )  # fmt: skip


def test_a_slot_of_another_tenant_is_evidence(case_of: CaseOf) -> None:
    assert verdicts(case_of(slot("r", "B"))) == [("r", "A", "probable")]
    assert verdicts(case_of(slot("r", "A"))) == [("r", "A", "ruled_out")]


def test_owners_that_are_never_tenants_are_names_of_another_kind(case_of: CaseOf) -> None:
    case = case_of(*(slot(f"r{n:02}", f"player-{n}") for n in range(20)))
    assert {tier for _, _, tier in verdicts(case)} == {"ruled_out"}


WINDOW = (
    '[scope]\nmodels = ["glm-5.3"]\nwindow = ["2026-08-27T00:00:00Z", "2026-09-10T00:00:00Z"]\n'
)
SHORT = {"request_id": "r", "tenant_id": "A", "reserved_pages": 9, "transferred_pages": 1}


def test_the_earliest_time_known_stands_in_for_the_arrival(case_of: CaseOf) -> None:
    times = {"finished_at": "2026-09-09T23:00:00Z", "released_at": "2026-09-10T01:00:00Z"}
    case = case_of(SHORT | times | {"http_status": 200}, incident=WINDOW)
    assert verdicts(case) == [("r", "A", "probable")]


def test_records_that_name_several_models_rule_nobody_out(case_of: CaseOf) -> None:
    gateway = record("gateway", request_id="r", tenant_id="A", model="alias", http_status=200)
    decode = record("decode", **SHORT, model="glm-5.3")
    assert verdicts(case_of(gateway, decode, incident=WINDOW)) == [("r", "A", "probable")]
    assert verdicts(case_of(gateway | SHORT, incident=WINDOW)) == [("r", "A", "ruled_out")]
    again = gateway | {"model": "glm-5.3", "received_at": "2026-09-01T12:00:09Z"} | SHORT
    assert verdicts(case_of(gateway, again, incident=WINDOW)) == [("r", "A", "probable")]


def test_where_the_sides_differ_about_pages_the_fewest_arrived(case_of: CaseOf) -> None:
    prefill = record("prefill", request_id="p", transfer_id="t", transferred_pages=1)
    decode = record(
        "decode", request_id="r", transfer_id="t", reserved_pages=900, transferred_pages=900,
        completion_tokens=3,
    )  # fmt: skip
    assert verdicts(case_of(prefill, decode)) == [("r", None, "probable")]


def test_tokens_that_contradict_the_pages_are_evidence(case_of: CaseOf) -> None:
    pages = {"reserved_pages": 10, "transferred_pages": 10}
    tokens = {"reserved_tokens": 640, "transferred_tokens": 64}
    row = record(None, request_id="r", tenant_id="A", http_status=200, **pages, **tokens)
    assert verdicts(case_of(row)) == [("r", "A", "probable")]
    rounded = row | {"transferred_tokens": 600}
    assert verdicts(case_of(rounded)) == [("r", "A", "ruled_out")]


def test_a_zero_of_one_hop_does_not_undo_the_tokens_of_another(case_of: CaseOf) -> None:
    gateway = record("gateway", request_id="r", tenant_id="A", completion_tokens=30)
    decode = record("decode", **SHORT, completion_tokens=0)
    assert verdicts(case_of(gateway, decode)) == [("r", "A", "possible")]


@pytest.mark.parametrize(
    "other",
    [
        {"node": "p2", "role": "prefill", "engine": "sglang", "context_tokens": 9},
        record("prefill", request_id="x", prefill_node="p2", prefill_prompt_tokens=9),
    ],
)
def test_below_the_known_limits_is_not_below_all(case_of: CaseOf, other: dict[str, Any]) -> None:
    alone = record("gateway", request_id="r", tenant_id="A", prompt_tokens=600_000, http_status=200)
    over = alone | {"request_id": "s", "prompt_tokens": 700_000}
    assert verdicts(case_of(PREFILL, alone))[-1] == ("r", "A", "ruled_out")
    found = {name: tier for name, _, tier in verdicts(case_of(PREFILL, other, alone, over))}
    assert (found["r"], found["s"]) == ("not_assessable", "possible")


@pytest.mark.parametrize("engine", [{"tenant_id": "B"}, {"model": "other"}])
def test_an_engine_record_of_somebody_else_stands_for_no_gateway_record(
    case_of: CaseOf, engine: dict[str, Any]
) -> None:
    gateway = record("gateway", request_id="g", tenant_id="A", model="m", prompt_tokens=700_000)
    decode = record(
        "decode", request_id="d", transfer_id="t", decode_prompt_tokens=700_000, **engine
    )
    assert "g" in {name for name, _, _ in verdicts(case_of(gateway, decode))}


def test_of_two_gateway_records_neither_is_left_out_for_one_engine_record(case_of: CaseOf) -> None:
    gateways = [
        record("gateway", request_id=f"g{t}", tenant_id=t, prompt_tokens=700_000) for t in "AB"
    ]
    decode = record("decode", request_id="d", transfer_id="t", decode_prompt_tokens=700_000)
    found = {name for name, _, _ in verdicts(case_of(*gateways, decode))}
    assert {"gA", "gB"} <= found


def test_a_gateways_count_alone_is_no_placeholder(case_of: CaseOf) -> None:
    row = record(
        None, request_id="r", tenant_id="A", prefill_node="p1", prompt_tokens=700_000,
        prefill_prompt_tokens=681_000, http_status=200,
    )  # fmt: skip
    (found,) = case_of(PREFILL | {"page_tokens": 64}, row).requests.polars().to_dicts()
    assert (found["tier"], found["reasons"]) == ("possible", ["count_mismatch", "over_limit"])


def test_the_order_of_lines_decides_nothing_where_an_id_is_logged_twice(case_of: CaseOf) -> None:
    base = {"transfer_id": "trace", "completion_tokens": 5}
    c0 = {"request_id": "c0", "decode_prompt_tokens": 5000} | base
    records = [
        record("decode", **c0),
        record("decode", "2026-09-01T12:00:08Z", **c0),
        record("decode", "2026-09-01T12:00:10Z", request_id="c1", decode_prompt_tokens=500, **base),
        record("prefill", "2026-09-01T12:00:06Z", request_id="p", transfer_id="trace",
               prefill_prompt_tokens=1),
    ]  # fmt: skip
    first = verdicts(case_of(*records))
    orders = list(permutations(records))[::3]  # each record is first, last and in between
    assert all(verdicts(case_of(*order)) == first for order in orders)
    assert {name: tier for name, _, tier in first}["c0"] == "possible"


@pytest.mark.parametrize(
    ("gateway", "engine"),
    [
        ({"transfer_id": "1001", "reserved_pages": 9, "transferred_pages": 1}, {}),
        ({"completion_tokens": 5}, {"completion_tokens": 0}),
    ],
)
def test_a_gateway_record_with_evidence_of_its_own_is_never_left_out(
    case_of: CaseOf, gateway: dict[str, Any], engine: dict[str, Any]
) -> None:
    seen = record("gateway", request_id="g", tenant_id="A", prompt_tokens=700, http_status=200)
    other = {"request_id": "d", "transfer_id": "1002", "decode_prompt_tokens": 700} | engine
    found = verdicts(case_of(seen | gateway, record("decode", **other)))
    assert "g" in {name for name, _, _ in found}


def test_an_id_that_a_client_reuses_hours_later_is_another_request(case_of: CaseOf) -> None:
    late = "2026-09-01T20:00:00Z"
    long = record("gateway", request_id="x", tenant_id="A", prompt_tokens=700_000, http_status=200)
    small = {"request_id": "x", "transfer_id": "1001"}
    prefill = record("prefill", late, prefill_prompt_tokens=5, **small)
    decode = record("decode", late, decode_prompt_tokens=5, completion_tokens=3, **small)
    case = case_of(PREFILL, long, prefill, decode)
    assert sorted(tier for _, _, tier in verdicts(case)) == ["possible", "ruled_out"]
    again = long | {"received_at": late, "prompt_tokens": 5}
    assert [t for _, _, t in verdicts(case_of(PREFILL, long, again))] == ["possible", "ruled_out"]


def test_a_call_that_only_the_gateway_logged_is_its_own_under_a_shared_trace(
    case_of: CaseOf,
) -> None:
    calls = [("c1", "A", 500), ("c2", "A", 600), ("c3", "B", 700_000)]
    gateways = [
        record("gateway", f"2026-09-01T12:00:{10 * n}0Z"[:19] + "Z", request_id=c, tenant_id=t,
               transfer_id="trace", prompt_tokens=size, http_status=200)
        for n, (c, t, size) in enumerate(calls)
    ]  # fmt: skip
    decodes = [
        record("decode", request_id=c, transfer_id="trace", decode_prompt_tokens=size)
        for c, _, size in calls[:2]
    ]
    found = {
        (name, tenant): tier
        for name, tenant, tier in verdicts(case_of(PREFILL, *gateways, *decodes))
    }
    assert set(found) == {("c1", "A"), ("c2", "A"), ("c3", "B")}
    assert found["c3", "B"] == "possible"


@pytest.mark.parametrize("named", [True, False])
def test_tenants_of_one_hop_alone_under_one_transfer_id_stay_apart(
    case_of: CaseOf, named: bool
) -> None:
    records = [
        record("prefill" if named else "decode", transfer_id="trace", tenant_id=t, http_status=200,
               prompt_tokens=700_000, **({"request_id": f"p{t}"} if named else {}))
        for t in "ABC"
    ]  # fmt: skip
    assert {tenant for _, tenant, _ in verdicts(case_of(PREFILL, *records))} == {"A", "B", "C"}


@pytest.mark.parametrize(
    "more",
    [
        {"completion_tokens": 400, "http_status": 200},
        {"reserved_tokens": 5000, "transferred_tokens": 64, "http_status": 200},
    ],
)
def test_a_small_room_is_a_warm_up_only_if_nothing_in_it_is_more(
    case_of: CaseOf, more: dict[str, Any]
) -> None:
    prefill = record(
        "prefill", request_id="a", transfer_id="12", prefill_node="p1", prefill_prompt_tokens=1
    )
    decode = record("decode", request_id="b", transfer_id="12", decode_node="d1", **more)
    assert len(case_of(PREFILL, DECODE, prefill, decode).requests) == 1
    assert len(case_of(PREFILL, DECODE, decode).requests) == 1


def test_a_side_that_got_all_of_its_own_pages_does_not_make_the_other_short(
    case_of: CaseOf,
) -> None:
    prefill = record(
        "prefill", request_id="p", transfer_id="t", reserved_pages=79, transferred_pages=79
    )
    pages = {"reserved_pages": 15, "transferred_pages": 15}
    decode = record("decode", request_id="r", transfer_id="t", completion_tokens=3, **pages)
    assert verdicts(case_of(prefill, decode)) == [("r", None, "ruled_out")]


def test_values_at_the_end_of_their_range_end_no_run(case_of: CaseOf, tmp_path: Path) -> None:
    case = case_of(
        {"request_id": "z", "prompt_tokens": 5, "received_at": "9998-12-31T23:59:59Z"},
        {"request_id": "y", "prompt_tokens": 5, "received_at": "9999-12-31T23:59:59Z"},
        PREFILL | {"page_tokens": 0},
        record("prefill", request_id="p", prefill_node="p1", reserved_tokens=10),
    )
    case.report(tmp_path / "out")
    assert len(case.requests) == 3


def test_a_hand_off_without_a_requests_id_is_known_by_its_own(case_of: CaseOf, tmp_path) -> None:
    rows = [
        record(hop, transfer_id=room, tenant_id="A", **{f"{hop}_prompt_tokens": count})
        for room, tokens in (("77", 700_000), ("78", 700_001))
        for hop, count in (("prefill", 1), ("decode", tokens))
    ]
    case = case_of(PREFILL, *(row | {"completion_tokens": 5} for row in rows))
    case.report(tmp_path / "out")
    found = pl.read_parquet(tmp_path / "out" / "affected_requests.parquet")
    assert found.sort("request_id").select("request_id", "transfer_id", "attempt").rows() == [
        ("77", "77", 0),
        ("78", "78", 0),
    ]
    lineage = pl.read_parquet(tmp_path / "out" / "evidence.parquet")
    own = lineage.filter(request_id="78", column="decode_prompt_tokens")
    assert own["value"].to_list() == ["700001"]
    assert run(["explain", str(tmp_path / "out"), "78"]) == 0
