"""Client records that share no identifier with an engine: joined, set aside, or requests."""

import json
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import forensics
from forensics.cli import run

CaseOf = Callable[..., forensics.Case]
START = 1_788_264_000
WINDOW = '[scope]\nmodels = ["m"]\nwindow = ["2026-09-01T12:00:30Z", "2026-09-02T00:00:00Z"]\n'
LIMIT = "[trigger]\nthreshold_tokens = 681280\n"


def at(seconds: float) -> str:
    whole, part = divmod(round(seconds * 1000), 1000)
    minute, second = divmod(whole, 60)
    return f"2026-09-01T{12 + minute // 60:02}:{minute % 60:02}:{second:02}.{part:03}Z"


def gateway(name: str, seconds: float, size: int | None = 700_000, **values: Any) -> dict[str, Any]:
    found = {
        "hop": "gateway",
        "request_id": name,
        "received_at": at(seconds),
        "prompt_tokens": size,
    }
    return {k: v for k, v in {**found, "http_status": 200, **values}.items() if v is not None}


def engine(
    name: str, seconds: float, size: int = 700_000, prefill: int = 1, **values: Any
) -> list[dict[str, Any]]:
    """Prefill's and decode's record under one room; a placeholder unless told otherwise."""
    room = {"transfer_id": f"room-{name}", "received_at": at(seconds)}
    decode = {"decode_prompt_tokens": size, "completion_tokens": 9, "decode_node": "d1"} | values
    decode = {k: v for k, v in decode.items() if v is not None}
    return [
        {
            "hop": "prefill",
            "request_id": f"p-{name}",
            "prefill_prompt_tokens": prefill,
            "prefill_node": "p1",
        }
        | room,
        {"hop": "decode", "request_id": name} | decode | room,
    ]


def rows(case: forensics.Case) -> dict[tuple[str, int], dict[str, Any]]:
    found = case.requests.polars().to_dicts()
    return {(row["request_id"], row["attempt"]): row for row in found}


def brief(case: forensics.Case) -> list[tuple[str, str | None, str]]:
    found = case.requests.polars().sort("request_id", "attempt")
    return list(found.select("request_id", "tenant_id", "tier").iter_rows())


def test_the_only_client_record_of_a_size_gives_the_request_its_tenant(case_of: CaseOf) -> None:
    case = case_of(gateway("g", 0, tenant_id="A", completion_tokens=9), *engine("d", 1))
    (row,) = rows(case).values()
    # What the engines show rests on their own room: the tenant alone is inferred.
    assert (row["request_id"], row["tenant_id"], row["tier"]) == ("d", "A", "probable")
    assert row["reasons"] == ["placeholder_prefill", "tenant_inferred"]
    assert case.analysis.unpaired == 0
    assert "inferred_tenants" in {limit.code for limit in case.exposure().limitations}
    assert case.analysis.requests["http_status"].to_list() == [200]
    assert case.exposure().headline.bound.high == 1


def test_a_tenant_that_an_identifier_joins_is_not_inferred(case_of: CaseOf) -> None:
    case = case_of(gateway("d", 0, tenant_id="A"), *engine("d", 1))
    (row,) = rows(case).values()
    assert (row["tenant_id"], row["reasons"]) == ("A", ["placeholder_prefill"])
    known = case_of(gateway("g", 0, tenant_id="A"), *engine("d", 1, tenant_id="A"))
    assert rows(known)["d", 0]["reasons"] == ["placeholder_prefill"]


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "record",
    [
        gateway("g", 61, tenant_id="A"),
        gateway("g", 0, 700_001, tenant_id="A"),
        gateway("g", 0, tenant_id="A", http_status=503, rejected=True),
        gateway("g", 0, tenant_id="A", completion_tokens=0),
        gateway("g", 0, tenant_id="A", rejected=True, completion_tokens=4),
        gateway("g", 0, tenant_id="A", reserved_pages=9),
    ],
    ids=["later", "longer", "refused", "unanswered", "evidence", "pages"],
)
def test_what_cannot_be_the_engines_request_is_a_request_of_its_own(
    case_of: CaseOf, record: dict[str, Any]
) -> None:
    found = brief(case_of(record, *engine("d", 0)))
    assert [(name, tenant) for name, tenant, _ in found] == [("d", None), ("g", "A")]
    assert found[0][2] == "probable"


@pytest.mark.parametrize("side", [{"tenant_id": "B"}, {"model": "other"}])
def test_tenant_and_model_have_to_agree(case_of: CaseOf, side: dict[str, Any]) -> None:
    case = case_of(gateway("g", 0, tenant_id="A", model="m"), *engine("d", 0, **side))
    assert {name for name, _, _ in brief(case)} == {"d", "g"}


def test_an_inferred_record_decides_nothing(case_of: CaseOf) -> None:
    """Not its time, its model, nor an answer that the engines do not show."""
    asked = WINDOW + LIMIT
    outside = gateway("g", 20, tenant_id="A", model="other")
    (row,) = rows(case_of(outside, *engine("d", 40), incident=asked)).values()
    assert (row["tenant_id"], row["tier"]) == ("A", "probable")
    unknown = engine("d", 40, completion_tokens=None)
    for answer in ({"http_status": 503}, {"http_status": 200}, {"completion_tokens": 7}):
        said = gateway("g", 41, tenant_id="A", **answer)
        (row,) = rows(case_of(said, *unknown, incident=asked)).values()
        assert (row["tenant_id"], row["tier"]) == ("A", "possible"), answer
        assert "delivery_unknown" in row["reasons"]
    sound = engine("d", 40, prefill=700_000)
    (row,) = rows(case_of(gateway("g", 41, tenant_id="A"), *sound, incident=asked)).values()
    assert (row["tenant_id"], row["tier"]) == ("A", "ruled_out")


def test_a_refusal_gets_its_tenant_and_stays_possible(case_of: CaseOf, tmp_path: Path) -> None:
    (tmp_path / "p1.log").write_text(rejection("2026-09-01 12:00:01", "DP0 TP0 EP0"))
    (tmp_path / "gateway.ndjson").write_text(json.dumps(gateway("g", 0, tenant_id="A")) + "\n")
    found = brief(forensics.read_logs(tmp_path, incident=zone(tmp_path)))
    assert found == [("g", "A", "possible")]


def rejection(when: str, rank: str) -> str:
    return (
        f"[{when} {rank}] Input length (700000 tokens) exceeds the maximum allowed length (681274 "
        "tokens). Use a shorter input or enable --allow-auto-truncate., self.rid='rej'\n"
    )


def zone(folder: Path) -> Path:
    asked = folder.parent / "incident.toml"
    asked.write_text('[logs]\ntimezone = "UTC"\n')
    return asked


def test_each_room_of_a_router_retry_is_judged_alone(case_of: CaseOf) -> None:
    """The client's answer belongs to the last; engines that share the client's id are one."""
    same = {"request_id": "d"}
    tries = [
        *(r | same for r in engine("r1", 1, completion_tokens=0)),
        *(r | same for r in engine("r2", 9, prefill=700_000)),
    ]
    case = case_of(gateway("g", 0, tenant_id="A", completion_tokens=9), *tries)
    found = case.requests.polars().sort("attempt").to_dicts()
    assert [(r["transfer_id"], r["tenant_id"], r["tier"]) for r in found] == [
        ("room-r1", "A", "ruled_out"),
        ("room-r2", "A", "ruled_out"),
    ]
    assert "not_delivered" in found[0]["reasons"]
    assert case.analysis.requests.sort("attempt")["http_status"].to_list() == [None, 200]


def test_the_clients_answer_is_not_that_of_an_earlier_attempt(case_of: CaseOf) -> None:
    tries = [r | {"request_id": "d"} for n in (1, 9) for r in engine(f"r{n}", n)]
    case = case_of(gateway("g", 0, tenant_id="A", completion_tokens=9), *tries)
    found = case.analysis.requests.sort("attempt")
    assert found["tenant_id"].to_list() == ["A", "A"]
    assert found["http_status"].to_list() == [None, 200]


def test_one_record_that_could_be_either_of_two_requests_counts_once(case_of: CaseOf) -> None:
    both = [("d0", None, "probable"), ("d1", None, "probable")]
    case = case_of(gateway("g", 0, tenant_id="A"), *engine("d0", 1), *engine("d1", 2))
    assert brief(case) == [*both, ("g", "A", "possible")]
    assert case.analysis.unpaired == 1
    head = case.exposure().headline
    assert (head.bound.low, head.bound.high) == (2, 2)
    assert "Up to 1 of them may be listed twice" in head.sentence
    nobodys = case_of(gateway("g", 0), *engine("d0", 1), *engine("d1", 2))
    assert brief(nobodys) == both
    assert nobodys.exposure().headline.bound.high == 2


def test_a_tenant_of_which_no_response_is_affected_stays_set_aside(case_of: CaseOf) -> None:
    sound = [*engine("d0", 1, prefill=700_000), *engine("d1", 2, prefill=700_000)]
    case = case_of(gateway("g", 0, tenant_id="A"), *sound)
    assert brief(case) == [("d0", None, "ruled_out"), ("d1", None, "ruled_out")]
    assert case.exposure().headline.bound.high == 0


def test_a_record_is_not_cleared_by_its_length_where_a_short_hand_off_may_be_its_own(
    case_of: CaseOf,
) -> None:
    short = {"reserved_pages": 10, "transferred_pages": 2}
    tries = [*engine("d0", 1, 640, 640, **short), *engine("d1", 2, 640, 640)]
    calls = [gateway(f"g{t}", n, 640, tenant_id=t) for n, t in enumerate("ABC")]
    found = brief(case_of(*calls[:2], *tries, incident=LIMIT))
    assert found == [
        ("d0", None, "probable"),
        ("d1", None, "ruled_out"),
        *((f"g{t}", t, "possible") for t in "AB"),
    ]
    more = brief(case_of(*calls, *tries, incident=LIMIT))
    assert more[2:] == [(f"g{t}", t, "possible") for t in "ABC"]


def test_a_retry_under_another_engine_id_takes_the_try_that_was_served(case_of: CaseOf) -> None:
    """No gateway's record is of the other: a third try of it may have been answered."""
    tries = [*engine("r1", 1, completion_tokens=0), *engine("r2", 9)]
    found = brief(case_of(gateway("g", 0, tenant_id="A", completion_tokens=9), *tries))
    assert found == [("r1", None, "possible"), ("r2", "A", "probable")]


@pytest.mark.few(2)
@pytest.mark.parametrize("order", list(permutations(range(4)))[::5])
def test_several_of_one_size_are_never_guessed_and_never_counted_twice(
    case_of: CaseOf, order: tuple[int, ...]
) -> None:
    made = [[gateway(f"g{t}", n, tenant_id=t)] for n, t in enumerate("AB")]
    made += [engine("d0", 1), engine("d1", 30)]
    case = case_of(*(record for at in order for record in made[at]))
    assert brief(case) == [
        *((name, None, "probable") for name in ("d0", "d1")),
        *((f"g{t}", t, "possible") for t in "AB"),
    ]
    assert case.analysis.unpaired == 2
    head = case.exposure().headline
    assert "2 gateway records without a pair among engine records" in head.incomplete
    assert (head.bound.low, head.bound.high, head.recipients) == (2, 2, 2)


def test_one_tenant_that_asks_twice_is_the_tenant_of_both(case_of: CaseOf) -> None:
    calls = [gateway(f"g{n}", 20 * n, tenant_id="A") for n in (0, 1)]
    case = case_of(*calls, *engine("d0", 1), *engine("d1", 21))
    assert brief(case) == [("d0", "A", "probable"), ("d1", "A", "probable")]
    # A third engine request may be anybody's.
    more = case_of(*calls, *engine("d0", 1), *engine("d1", 21), *engine("d2", 22))
    assert {tenant for name, tenant, _ in brief(more) if name[0] == "d"} == {None}


def test_more_client_records_than_engine_requests_are_all_kept(case_of: CaseOf) -> None:
    calls = [gateway(f"g{t}", n, tenant_id=t) for n, t in enumerate("ABC")]
    found = brief(case_of(*calls, *engine("d0", 1), *engine("d1", 2)))
    assert [name for name, _, _ in found] == ["d0", "d1", "gA", "gB", "gC"]
    found = brief(case_of(*calls[:2], *engine("d0", 1)))
    assert [(name, tenant) for name, tenant, _ in found] == [("d0", None), ("gA", "A"), ("gB", "B")]


def test_the_usual_delay_tells_prompts_of_one_size_apart(case_of: CaseOf) -> None:
    """Thirty sure pairs say how long a request takes; two of one size lie further apart."""
    made = []
    for n in range(30):
        made += [gateway(f"g{n:02}", 100 * n, 1000 + n, tenant_id=f"T{n}")]
        made += engine(f"d{n:02}", 100 * n + 3.25, 1000 + n)
    twins = [gateway("gx", 4000, tenant_id="X"), gateway("gy", 4010, tenant_id="Y")]
    twins += [*engine("dy", 4013.5), *engine("dx", 4003)]
    found = {name: tenant for name, tenant, _ in brief(case_of(*made, *twins))}
    assert (found["dx"], found["dy"]) == ("X", "Y")
    assert found["d07"] == "T7"
    unsure = {name: tenant for name, tenant, _ in brief(case_of(*made[:30], *twins))}
    assert (unsure["dx"], unsure["dy"]) == (None, None)


def test_a_gateways_clock_that_is_off_is_allowed_for(case_of: CaseOf) -> None:
    """Requests that share an id show by how much."""
    shared = []
    for n in range(6):
        shared += [gateway(f"s{n}", 500 * n, 1000 + n, tenant_id="S")]
        shared += engine(f"s{n}", 500 * n + 200, 1000 + n)
    apart = [gateway("g", 4000, tenant_id="A"), *engine("d", 4200)]
    assert ("d", "A", "probable") in brief(case_of(*shared, *apart))
    assert ("d", None, "probable") in brief(case_of(*apart))


def test_where_an_engine_logged_the_end_alone_ends_are_compared(tmp_path: Path) -> None:
    """Up to 0.5.11 a time-stats line has no time of its own but that of the end."""
    old = (
        "[2026-09-01 12:{at} TP0] Req Time Stats(rid={rid}, bootstrap_room=1000000000000000001, "
        "input len={size}, output len=60, type={side}): {lead}_duration=110.00ms, "
        "queue_duration=10.00ms, forward_duration=1330.00ms, start_time=4999.600\n"
    )
    prefill = old.format(at="00:02", rid="p", size=1, side="prefill", lead="bootstrap")
    decode = old.format(at="05:00", rid="d", size=700_000, side="decode", lead="prealloc")
    (tmp_path / "p1.log").write_text(prefill)
    (tmp_path / "d1.log").write_text(decode)
    ended = gateway("g", 1, tenant_id="A", finished_at=at(299))
    (tmp_path / "gateway.ndjson").write_text(json.dumps(ended) + "\n")
    assert brief(forensics.read_logs(tmp_path, incident=zone(tmp_path))) == [("d", "A", "probable")]


# --- without a size --------------------------------------------------------------------


def routed(name: str, seconds: float, status: int = 200, **values: Any) -> dict[str, Any]:
    return gateway(name, seconds, None, http_status=status, **values)


def test_a_routers_records_are_no_second_requests(case_of: CaseOf) -> None:
    calls = [routed(f"g{n}", 10 * n) for n in range(4)]
    made = [record for n in range(3) for record in engine(f"d{n}", 10 * n + 1)]
    case = case_of(*calls, *made, routed("late", 500))
    assert [name for name, _, _ in brief(case)] == ["d0", "d1", "d2", "g3", "late"]
    assert case.analysis.unpaired == 3
    assert rows(case)["late", 0]["tier"] == "not_assessable"


def test_a_routers_refusal_stands_for_no_request_that_was_served(case_of: CaseOf) -> None:
    found = brief(case_of(routed("g", 0, 503), *engine("d", 1)))
    assert found == [("d", None, "probable"), ("g", None, "ruled_out")]
    failed = brief(case_of(routed("g", 0), *engine("d", 1, completion_tokens=0)))
    assert failed == [("d", None, "possible"), ("g", None, "possible")]
    served = brief(case_of(routed("a", 0, 503), routed("b", 2), *engine("d", 1)))
    assert served == [("a", None, "ruled_out"), ("d", None, "probable")]


def test_a_sized_record_is_joined_before_a_router_takes_its_request(case_of: CaseOf) -> None:
    case = case_of(routed("g", 0), gateway("h", 5, tenant_id="A"), *engine("d", 1))
    assert brief(case) == [("d", "A", "probable"), ("g", None, "not_assessable")]


def test_records_that_are_set_aside_stay_accounted_for(tmp_path: Path) -> None:
    made = [routed("g", 0), *engine("d", 1)]
    (tmp_path / "logs.ndjson").write_text("".join(json.dumps(r) + "\n" for r in made))
    out = tmp_path / "out"
    assert run(["report", str(tmp_path / "logs.ndjson"), "-o", str(out), "-q"]) == 3
    document = json.loads((out / "report.json").read_text())
    (count,) = document["read"]
    assert (count["read"], count["kept"]) == (3, 3)
    assert any("1 gateway record without a pair" in f for f in document["headline"]["incomplete"])


def test_the_values_of_an_inferred_record_are_shown_as_evidence(case_of: CaseOf) -> None:
    case = case_of(gateway("g", 0, tenant_id="A"), *engine("d", 1))
    found = case.lineage().filter(pl.col("hop") == "gateway")
    assert dict(found.select("column", "value").iter_rows())["tenant_id"] == "A"
    assert found["request_id"].unique().to_list() == ["d"]


# --- the hop before --------------------------------------------------------------------


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("call", "joins"),
    [
        (gateway("g", 4, tenant_id="A", finished_at=at(30)), True),
        (gateway("g", 7, tenant_id="A", finished_at=at(30)), False),
        (gateway("g", 25, tenant_id="A"), False),
        (gateway("g", 0, tenant_id="A", finished_at=at(18)), True),
        (gateway("g", 0, tenant_id="A", finished_at=at(14)), False),
        (gateway("g", 0, tenant_id="A", finished_at=at(3), http_status=499), True),
    ],
    ids=["together", "after", "after the end", "its end", "ended before", "went away"],
)
def test_a_client_record_begins_before_the_engine_and_ends_after_it(
    case_of: CaseOf, call: dict[str, Any], joins: bool
) -> None:
    found = brief(case_of(call, *engine("d", 1, finished_at=at(20))))
    alone = [("d", None, "probable"), ("g", "A")]
    assert found[0] == (("d", "A", "probable") if joins else alone[0])
    assert [row[:2] for row in found[1:]] == ([] if joins else [alone[1]])


def test_of_two_client_records_the_later_one_is_not_the_hop_before(case_of: CaseOf) -> None:
    calls = [gateway("ga", 0, tenant_id="A"), gateway("gb", 30, tenant_id="B")]
    found = brief(case_of(*calls, *engine("d", 1, finished_at=at(20))))
    assert [row[:2] for row in found] == [("d", "A"), ("gb", "B")]


def test_a_record_without_a_size_is_set_aside_for_no_earlier_request(case_of: CaseOf) -> None:
    case = case_of(routed("g", 30), *engine("d", 1, finished_at=at(20)))
    assert {name for name, _, _ in brief(case)} == {"d", "g"}
    assert case.analysis.unpaired == 0


def test_an_end_alone_is_the_end_of_a_call_that_began_before(tmp_path: Path) -> None:
    old = (
        "[2026-09-01 12:00:20 TP0] Req Time Stats(rid=d, bootstrap_room=1000000000000000001, "
        "input len=700000, output len=60, type=decode): prealloc_duration=110.00ms, "
        "queue_duration=10.00ms, forward_duration=1330.00ms, start_time=4999.600\n"
    )
    (tmp_path / "d1.log").write_text(old)
    calls = [gateway("ga", 15, tenant_id="A"), gateway("gb", 30, tenant_id="B")]
    (tmp_path / "gateway.ndjson").write_text("".join(json.dumps(c) + "\n" for c in calls))
    found = brief(forensics.read_logs(tmp_path, incident=zone(tmp_path)))
    assert [row[:2] for row in found] == [("d", "A"), ("gb", "B")]
