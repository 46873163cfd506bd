"""How far clocks are apart: measured over joined requests, shown, and never used to move a time."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import forensics
from forensics.cli import run
from forensics.exposure import ClockPair

CaseOf = Callable[..., forensics.Case]
WINDOW = '[scope]\nwindow = ["2026-09-01T12:00:00Z", "2026-09-01T18:00:00Z"]\n'


def at(seconds: float) -> str:
    minute, rest = divmod(12 * 3600 + seconds, 60)
    hour, minute = divmod(int(minute), 60)
    return f"2026-09-01T{hour:02}:{minute:02}:{rest:09.6f}Z"


def handoff(
    name: str, seconds: float, *, late: float = 0, client: float | None = None
) -> list[dict[str, Any]]:
    """One placeholder: prefill's clock right, decode's ``late`` seconds ahead of it."""
    room = {"transfer_id": f"room-{name}"}
    rows: list[dict[str, Any]] = [
        {"hop": "prefill", "request_id": f"p{name}", "prefill_node": "p1/dp0",
         "received_at": at(seconds), "prefill_prompt_tokens": 1} | room,
        {"hop": "decode", "request_id": name, "decode_node": "d1/dp3",
         "received_at": at(seconds + late), "decode_prompt_tokens": 700,
         "completion_tokens": 9} | room,
    ]  # fmt: skip
    if client is not None:
        rows.append({"hop": "gateway", "request_id": name, "received_at": at(seconds + client)})
    return rows


def many(count: int, **values: Any) -> list[dict[str, Any]]:
    return [row for n in range(count) for row in handoff(f"r{n}", 3600 + 10 * n, **values)]


def verdict(case: forensics.Case, name: str) -> tuple[str, list[str]]:
    rows = {row["request_id"]: row for row in case.requests.polars().to_dicts()}
    return rows[name]["tier"], rows[name]["reasons"]


def test_the_middle_of_the_differences_is_reported_for_each_pair(case_of: CaseOf) -> None:
    delays = (1.0, 1.25, 1.5, 1.75, 90.0)
    records = [
        row
        for n, late in enumerate(delays)
        for row in handoff(f"r{n}", 600 * n, late=late, client=-0.5)
    ]
    assert case_of(*records).exposure().clock_pairs == [
        ClockPair("gateway", "d1", 5, 2_000_000, 1_500_000, 90_500_000),
        ClockPair("gateway", "p1", 5, 500_000, 500_000, 500_000),
        ClockPair("p1", "d1", 5, 1_500_000, 1_000_000, 90_000_000),
    ]


def test_inferred_joins_and_times_of_lines_are_not_compared(
    case_of: CaseOf, tmp_path: Path
) -> None:
    other = {"hop": "gateway", "request_id": "other", "received_at": at(9), "prompt_tokens": 700}
    pairs = case_of(*handoff("r", 0), other).exposure().clock_pairs
    assert [(pair.first, pair.second) for pair in pairs] == [("p1", "d1")]
    line = (
        "[2026-09-01 12:00:3{n} DP0 TP0 EP0] {side} transfer failed for request rank=0 "
        "{req}.rid='{side}' {req}.bootstrap_room=5392444535701028124 with exception "
        "KVTransferError(bootstrap_room=5392444535701028124): Aborted by AbortReq.\n"
    )
    for n, (side, req) in enumerate((("Prefill", "req"), ("Decode", "decode_req.req"))):
        (tmp_path / f"{side.lower()}-1.log").write_text(line.format(n=n, side=side, req=req))
    assert forensics.read_logs(*tmp_path.glob("*-1.log")).exposure().clock_pairs == []


def test_no_time_is_moved(case_of: CaseOf) -> None:
    case = case_of(*many(9, late=40), incident=WINDOW)
    assert str(case.requests.polars()["received_at"][0]) == "2026-09-01 13:00:40+00:00"
    assert {verdict(case, f"r{n}")[0] for n in range(9)} == {"probable"}


@pytest.mark.parametrize("shift", [39, -39])
def test_near_the_edge_a_clock_that_is_off_leaves_it_possible(case_of: CaseOf, shift: int) -> None:
    """Forty seconds off: the request may have been on the other side of the edge."""
    known = many(9, late=40)
    case = case_of(*known, *handoff("edge", shift - 40, late=40), incident=WINDOW)
    assert verdict(case, "edge") == ("possible", ["clock_uncertain", "placeholder_prefill"])
    assert verdict(case, "r3")[0] == "probable"
    far = case_of(*known, *handoff("edge", 2 * shift - 40, late=40), incident=WINDOW)
    assert verdict(far, "edge")[0] == ("probable" if shift > 0 else "ruled_out")


def test_a_client_facing_time_needs_no_allowance_where_no_engine_contradicts_it(
    case_of: CaseOf,
) -> None:
    """At an edge; and whoever is doubted there is among the reasons of incomplete evidence."""
    for late, tier in ((0, "probable"), (40, "possible")):
        known = many(9, late=late, client=0)
        case = case_of(*known, *handoff("edge", 10, late=late, client=0), incident=WINDOW)
        assert (verdict(case, "edge")[0], verdict(case, "r3")[0]) == (tier, "probable")
        said = case.exposure().headline.incomplete
        assert any(s.startswith("1 request at an edge of the window") for s in said) is bool(late)


def test_seconds_between_the_nodes_and_a_few_requests_say_nothing_of_clocks(
    case_of: CaseOf,
) -> None:
    for known, late in ((many(9, late=4), 4), (many(3, late=40), 40)):
        case = case_of(*known, *handoff("edge", 3 - late, late=late), incident=WINDOW)
        assert verdict(case, "edge")[0] == "probable"


def test_the_gateway_settles_which_of_two_clocks_is_off(case_of: CaseOf) -> None:
    """Prefill agrees with the gateway, so a time of prefill's stands."""
    lone = [
        handoff("edge", 10)[0],
        {"hop": "prefill", "request_id": "pedge", "transfer_id": "room-edge", "rejected": True,
         "prefill_node": "p1/dp0", "received_at": at(10), "reserved_pages": 9,
         "transferred_pages": 1, "completion_tokens": 1},
    ]  # fmt: skip
    sure = case_of(*many(9, late=40, client=0), *lone, incident=WINDOW)
    assert "clock_uncertain" not in verdict(sure, "pedge")[1]
    unsure = case_of(*many(9, late=40), *lone, incident=WINDOW)
    assert "clock_uncertain" in verdict(unsure, "pedge")[1]


def tried_twice() -> list[dict[str, Any]]:
    """A client's call: an attempt on d2, whose clock is five minutes ahead, then one on d1."""
    first = {"decode_node": "d2/dp0", "received_at": at(7000 + 300), "completion_tokens": 0}
    rows = [
        {"hop": "decode", "request_id": "twice", "decode_prompt_tokens": 700} | values
        for values in (
            first | {"transfer_id": "room-first"},
            {"decode_node": "d1/dp3", "received_at": at(7004), "transfer_id": "room-second"},
        )
    ]
    rows += [
        {"hop": "prefill", "request_id": "ptwice", "prefill_node": "p1/dp0",
         "transfer_id": f"room-{name}", "received_at": at(7000 + late), "prefill_prompt_tokens": 1}
        for name, late in (("first", 0), ("second", 4))
    ]  # fmt: skip
    answer = {"http_status": 200, "completion_tokens": 9}
    client = {"hop": "gateway", "request_id": "twice", "received_at": at(7000)}
    return [*rows, client | answer]


def on_d2(count: int, **values: Any) -> list[dict[str, Any]]:
    rows = [
        row for n in range(count) for row in handoff(f"x{n}", 3605 + 10 * n, late=300, **values)
    ]
    return [row | {"decode_node": "d2/dp0"} if row["hop"] == "decode" else row for row in rows]


def attempts(case: forensics.Case) -> dict[str, tuple[int, str]]:
    rows = case.requests.polars().filter(pl.col("request_id") == "twice").to_dicts()
    return {row["transfer_id"]: (row["attempt"], row["tier"]) for row in rows}


def test_the_answered_attempt_is_the_last_by_the_gateways_clock(case_of: CaseOf) -> None:
    case = case_of(*many(9, client=0), *on_d2(9, client=0), *tried_twice())
    assert attempts(case) == {"room-first": (0, "ruled_out"), "room-second": (1, "probable")}


def test_an_answer_is_nobodys_where_no_clock_says_which_attempt_was_the_last(
    case_of: CaseOf,
) -> None:
    case = case_of(*many(9), *on_d2(9), *tried_twice())
    tiers = {name: tier for name, (_, tier) in attempts(case).items()}
    assert tiers == {"room-first": "ruled_out", "room-second": "possible"}


def test_the_pairs_are_in_the_document_whatever_the_order(tmp_path: Path) -> None:
    records = [json.dumps(row) + "\n" for row in many(8, late=7, client=0.25)]
    found = []
    for number, order in enumerate((records, records[::-1])):
        (tmp_path / "logs.ndjson").write_text("".join(order))
        out = tmp_path / f"out{number}"
        run(["report", str(tmp_path / "logs.ndjson"), "-o", str(out), "-q"])
        found.append((out / "report.json").read_bytes())
    assert found[0] == found[1]
    pairs = json.loads(found[0])["clock_pairs"]
    assert [(p["first"], p["second"], p["requests"]) for p in pairs] == [
        ("gateway", "d1", 8),
        ("gateway", "p1", 8),
        ("p1", "d1", 8),
    ]
