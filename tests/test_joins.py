"""Which records are of one request, and what several hops make of its values."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import forensics

CaseOf = Callable[..., forensics.Case]
ROOM = "5392444535701028124"


def record(hop: str | None, at: str = "2026-09-01T12:00:00Z", **values: Any) -> dict[str, Any]:
    return {"received_at": at} | ({"hop": hop} if hop else {}) | values


def rows(case: forensics.Case) -> list[dict[str, Any]]:
    return case.requests.polars().sort("request_id", "tenant_id", "attempt").to_dicts()


def test_three_hops_make_one_request_that_takes_each_value_from_the_hop_it_is_believed_from(
    case_of: CaseOf,
) -> None:
    (row,) = rows(
        case_of(
            record(
                "gateway",
                request_id="r",
                tenant_id="acme",
                prompt_tokens=700_001,
                http_status=200,
                completion_tokens=8,
            ),
            record(
                "prefill",
                request_id="p",
                transfer_id=ROOM,
                prefill_prompt_tokens=1,
                prefill_ms=70.5,
                prefill_node="p1/dp0",
            ),
            record(
                "decode",
                request_id="r",
                transfer_id=ROOM,
                decode_prompt_tokens=700_000,
                completion_tokens=9,
                decode_node="d1/dp3",
            ),
        )
    )
    assert row["request_id"] == "r"
    assert row["prefill_request_id"] == "p"
    assert row["transfer_id"] == ROOM
    assert row["tenant_id"] == "acme"
    assert row["prompt_tokens"] == 700_001
    assert row["completion_tokens"] == 9
    assert (row["prefill_node"], row["decode_node"]) == ("p1/dp0", "d1/dp3")
    assert row["tier"] == "probable"
    assert row["reasons"] == ["hops_disagree", "placeholder_prefill"]


def test_client_facing_values_come_from_the_gateway_first(case_of: CaseOf) -> None:
    (row,) = rows(
        case_of(
            record("decode", request_id="r", transfer_id=ROOM, prompt_tokens=9, model="d"),
            record("gateway", request_id="r", tenant_id="acme", prompt_tokens=7, model="g"),
        )
    )
    assert (row["prompt_tokens"], row["model"]) == (7, "g")


def test_prefills_200_and_completion_say_nothing_about_delivery(case_of: CaseOf) -> None:
    (row,) = rows(
        case_of(
            record(
                "prefill",
                request_id="p",
                transfer_id=ROOM,
                prefill_prompt_tokens=1,
                http_status=200,
                completion_tokens=1,
            ),
            record("decode", request_id="r", transfer_id=ROOM, decode_prompt_tokens=700_000),
        )
    )
    assert row["completion_tokens"] is None
    assert (row["tier"], row["rung"]) == ("possible", "triggered")
    assert "delivery_unknown" in row["reasons"]


def test_several_hand_offs_of_one_request_are_attempts_in_time(case_of: CaseOf) -> None:
    found = rows(
        case_of(
            record(
                "gateway",
                request_id="r",
                tenant_id="acme",
                http_status=200,
                completion_tokens=4,
                prompt_tokens=9,
            ),
            record(
                "decode",
                "2026-09-01T12:00:09Z",
                request_id="r",
                transfer_id="1002",
                decode_prompt_tokens=9,
            ),
            record(
                "decode",
                "2026-09-01T12:00:01Z",
                request_id="r",
                transfer_id="2001",
                decode_prompt_tokens=9,
                completion_tokens=0,
            ),
        )
    )
    assert [(r["attempt"], r["transfer_id"]) for r in found] == [(0, "2001"), (1, "1002")]
    assert [r["tenant_id"] for r in found] == ["acme", "acme"]
    assert [r["completion_tokens"] for r in found] == [0, 4]


def test_the_clients_answer_belongs_to_the_last_attempt(case_of: CaseOf) -> None:
    found = rows(
        case_of(
            record("gateway", request_id="r", tenant_id="acme", http_status=200),
            record(
                "decode",
                "2026-09-01T12:00:01Z",
                request_id="r",
                transfer_id="2001",
                reserved_pages=9,
                transferred_pages=1,
            ),
            record(
                "decode",
                "2026-09-01T12:00:09Z",
                request_id="r",
                transfer_id="1002",
                reserved_pages=9,
                transferred_pages=9,
            ),
        )
    )
    assert [r["tier"] for r in found] == ["possible", "ruled_out"]
    assert "delivery_unknown" in found[0]["reasons"]


def test_another_tenant_under_the_same_id_is_another_request(case_of: CaseOf) -> None:
    found = rows(
        case_of(
            record("gateway", request_id="r", tenant_id="acme", prompt_tokens=5, http_status=200),
            record(
                "gateway", request_id="r", tenant_id="umbrella", prompt_tokens=6, http_status=200
            ),
        )
    )
    assert [(r["tenant_id"], r["attempt"]) for r in found] == [("acme", 0), ("umbrella", 0)]


def test_a_record_without_a_tenant_takes_the_ids_only_one(case_of: CaseOf) -> None:
    (row,) = rows(
        case_of(
            record("gateway", request_id="r", tenant_id="acme", prompt_tokens=5),
            record("decode", request_id="r", decode_prompt_tokens=5, completion_tokens=3),
        )
    )
    assert (row["tenant_id"], row["completion_tokens"]) == ("acme", 3)


def test_tenants_that_differ_within_one_hand_off_are_evidence(case_of: CaseOf) -> None:
    (row,) = rows(
        case_of(
            record(
                "prefill",
                request_id="p",
                transfer_id=ROOM,
                tenant_id="acme",
                prefill_prompt_tokens=5,
            ),
            record(
                "decode",
                request_id="r",
                transfer_id=ROOM,
                tenant_id="umbrella",
                decode_prompt_tokens=5,
                completion_tokens=3,
            ),
        )
    )
    assert (row["tier"], row["reasons"]) == ("probable", ["owner_mismatch", "same_count"])


def test_one_transfer_id_used_twice_hours_apart_is_two_hand_offs(case_of: CaseOf) -> None:
    found = rows(
        case_of(
            record("prefill", request_id="p1", transfer_id=ROOM, prefill_prompt_tokens=5),
            record(
                "decode",
                request_id="r1",
                transfer_id=ROOM,
                decode_prompt_tokens=5,
                completion_tokens=3,
            ),
            record(
                "prefill",
                "2026-09-01T18:00:00Z",
                request_id="p2",
                transfer_id=ROOM,
                prefill_prompt_tokens=1,
            ),
            record(
                "decode",
                "2026-09-01T18:00:01Z",
                request_id="r2",
                transfer_id=ROOM,
                decode_prompt_tokens=50,
                completion_tokens=3,
            ),
        )
    )
    assert [(r["request_id"], r["tier"]) for r in found] == [
        ("r1", "ruled_out"),
        ("r2", "probable"),
    ]


def test_of_several_values_of_one_hop_the_one_that_clears_least_is_taken(case_of: CaseOf) -> None:
    (row,) = rows(
        case_of(
            record(
                "decode",
                request_id="r",
                transfer_id=ROOM,
                reserved_pages=9,
                transferred_pages=9,
                completion_tokens=0,
            ),
            record(
                "decode",
                request_id="r",
                transfer_id=ROOM,
                reserved_pages=9,
                transferred_pages=1,
                completion_tokens=7,
            ),
        )
    )
    assert (row["transferred_pages"], row["completion_tokens"]) == (1, 7)
    assert row["tier"] == "probable"


def test_a_refused_try_is_no_rejection_of_the_try_that_was_served(case_of: CaseOf) -> None:
    same = {"request_id": "r", "tenant_id": "acme", "prompt_tokens": 5}
    refused = record("gateway", **same, http_status=429, rejected=True, rejection_code="capacity")
    served = record("gateway", "2026-09-01T12:00:05Z", **same, http_status=200)
    (row,) = rows(case_of(refused, served, incident="[trigger]\nthreshold_tokens = 9"))
    assert (row["tier"], row["reasons"]) == ("ruled_out", ["below_limit"])
    (alone,) = rows(case_of(refused | {"http_status": 200}))
    assert (alone["tier"], alone["reasons"]) == ("probable", ["rejected_but_served"])


def test_exact_duplicates_count_once_and_are_counted(case_of: CaseOf) -> None:
    same = record("gateway", request_id="r", tenant_id="acme", prompt_tokens=5, http_status=200)
    case = case_of(same, same, same | {"prompt_tokens": "5"}, same | {"http_status": 201})
    (count,) = case.exposure().read
    assert (count.read, count.kept, count.duplicate) == (4, 2, 2)
    assert len(rows(case)) == 1


def test_records_without_any_id_are_kept_and_never_taken_for_duplicates(case_of: CaseOf) -> None:
    same = record(None, tenant_id="acme", prompt_tokens=5, http_status=200)
    other = same | {"prompt_tokens": 6}
    case = case_of(same, other, same)
    ids = case.requests.polars()["request_id"]
    assert ids.str.starts_with("unnamed:").all()
    assert ids.n_unique() == 3
    turned = case_of(other, same, same)
    assert set(turned.requests.polars()["request_id"]) == set(ids)


def test_capacity_alone_is_no_evidence_of_anything(case_of: CaseOf) -> None:
    case = case_of({"node": "p", "pool_tokens": 5, "effective_at": "2026-09-01T12:00:00Z"})
    assert case.exposure().headline.incomplete == ["no record of a request was read"]


def test_a_gateway_record_that_nothing_else_stands_for_stays_a_request(case_of: CaseOf) -> None:
    case = case_of(
        record(
            "gateway", request_id="gw-1", tenant_id="acme", prompt_tokens=800_000, http_status=200
        ),
        record(
            "decode",
            request_id="d",
            transfer_id=ROOM,
            decode_prompt_tokens=700_000,
            completion_tokens=3,
        ),
    )
    assert [r["request_id"] for r in rows(case)] == ["d", "gw-1"]


def test_probes_and_warm_ups_are_no_requests_and_are_counted(case_of: CaseOf) -> None:
    capacity = {"node": "d1", "role": "decode", "pool_tokens": 9, "engine": "sglang"}
    case = case_of(
        capacity,
        record(
            "prefill",
            request_id="HEALTH_CHECK_1",
            transfer_id="0",
            prefill_prompt_tokens=1,
            prefill_node="d1",
        ),
        record(
            "decode",
            request_id="warm",
            transfer_id="3",
            decode_prompt_tokens=4,
            decode_node="d1",
            completion_tokens=8,
        ),
        record(
            "decode",
            request_id="real",
            transfer_id="4",
            decode_prompt_tokens=5,
            decode_node="d1",
            completion_tokens=8,
        ),
    )
    assert case.requests.polars()["request_id"].to_list() == ["real"]
    (count,) = case.exposure().read
    assert count.ignored == {"probe or warm-up": 2}
    assert count.read == count.kept + sum(count.ignored.values())


def test_lineage_names_file_line_and_hop_of_every_value(case_of: CaseOf) -> None:
    case = case_of(
        record("prefill", request_id="p", transfer_id=ROOM, prefill_prompt_tokens=1),
        record(
            "decode", request_id="r", transfer_id=ROOM, decode_prompt_tokens=70, completion_tokens=3
        ),
    )
    found = case.lineage().filter(pl.col("column") == "prefill_prompt_tokens").to_dicts()
    assert [(f["request_id"], f["value"], f["hop"], f["line"]) for f in found] == [
        ("r", "1", "prefill", 1)
    ]
    assert found[0]["file"].endswith("case.ndjson")


def test_rooms_are_texts_of_63_bits_and_never_rounded(tmp_path: Path) -> None:
    """A room that went through a float is another one: it joins nothing."""
    line = '{"hop":"%s","request_id":"%s","received_at":"2026-09-01T12:00:00Z",%s}\n'
    for hop, name, room in (("prefill", "p", ROOM), ("decode", "d", ROOM)):
        (tmp_path / f"{hop}.ndjson").write_text(
            line % (hop, name, f'"transfer_id":{room},"{hop}_prompt_tokens":5')
        )
    assert [r["transfer_id"] for r in rows(forensics.read_logs(tmp_path))] == [ROOM]
    for rounded in ("5392444535701028000.0", "5.392444535701028e18", f"{ROOM}.0"):
        (tmp_path / "decode.ndjson").write_text(
            line % ("decode", "d", f'"transfer_id":{rounded},"decode_prompt_tokens":700')
        )
        found = rows(forensics.read_logs(tmp_path))
        assert {(r["request_id"], r["tier"]) for r in found} == {
            ("p", "not_assessable"),
            ("d", "not_assessable"),
        }


# --- one hand-off id, several requests -------------------------------------------------


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
    ("second", "names"),
    [
        ({"decode": "d2"}, ["d1", "d2"]),
        ({"tenant_id": "B"}, ["d1", "d1"]),
        ({"prompt": 700_000}, ["d1", "d1"]),
    ],
    ids=["another id", "another tenant", "another size"],
)
def test_a_room_that_a_client_sent_twice_within_seconds_is_two_hand_offs(
    case_of: CaseOf, second: dict[str, Any], names: list[str]
) -> None:
    first = sides("2026-09-01T12:00:00Z", "p1", "d1", 500, 500, tenant_id="A")
    again = {"prompt": 500, "decode": "d1", "tenant_id": "A"} | second
    other = sides("2026-09-01T12:00:05Z", "p2", counted=1, **again)
    found = rows(case_of(*first, *other))
    assert [r["request_id"] for r in found] == names
    # Which of prefill's records is whose is told by size or time alone.
    assert [r["prefill_prompt_tokens"] for r in sorted(found, key=by_time)] == [500, 1]
    assert sorted(r["tier"] for r in found) == ["not_assessable", "possible"]


def by_time(row: dict[str, Any]) -> Any:
    return row["received_at"]


def test_a_size_that_one_record_lacks_does_not_part_it_from_its_own(case_of: CaseOf) -> None:
    prefill, decode = sides("2026-09-01T12:00:00Z", "p1", "d1", 500, 500)
    line = record(
        "decode", "2026-09-01T12:00:01Z", request_id="d1", transfer_id=ROOM,
        transfer_status="failed",
    )  # fmt: skip
    (row,) = rows(case_of(prefill, decode, line, decode | {"received_at": "2026-09-01T12:00:02Z"}))
    assert (row["tier"], row["reasons"]) == ("ruled_out", ["same_count"])


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


# --- one request id, several calls -----------------------------------------------------


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
