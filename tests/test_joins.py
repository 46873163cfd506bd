"""Which records are of one request, and what several hops make of its values."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

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
