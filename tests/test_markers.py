"""A canary record confirms the request of its id and its time, and no other."""

import json
from collections.abc import Callable
from typing import Any

import pytest

import forensics

CaseOf = Callable[..., forensics.Case]
SEEN = "2026-08-28T10:00:00Z"


def at(minutes: int, seconds: int = 0) -> str:
    return f"2026-08-28T10:{minutes:02}:{seconds:02}Z"


def marker(**more: Any) -> dict[str, Any]:
    found = {"marker": "ab12", "planted_request_id": "other", "seen_request_id": "r"}
    return found | {"seen_at": SEEN} | more


def served(**more: Any) -> dict[str, Any]:
    row = {"hop": "decode", "request_id": "r", "tenant_id": "A", "prompt_tokens": 50}
    return row | {"completion_tokens": 3, "received_at": SEEN} | more


def confirmed(case: forensics.Case) -> list[str]:
    rows = case.requests.polars()
    return sorted(rows.filter(rows["tier"] == "confirmed")["tenant_id"].fill_null("?"))


def flagged(case: forensics.Case) -> bool:
    exposure = case.exposure()
    codes = {limitation.code for limitation in exposure.limitations}
    said = any("another time" in text for text in exposure.headline.incomplete)
    assert said == ("marker_unmatched" in codes)
    return said


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("request_at", "finished_at", "is_it"),
    [
        (at(0), None, True),
        (at(0, 59), None, True),
        (at(2), None, False),
        (at(45), None, False),
        ("2026-08-28T09:57:00Z", None, False),
        ("2026-08-28T09:57:00Z", at(0, 30), True),
        (None, None, True),
    ],
)
def test_a_marker_confirms_the_request_of_its_id_and_its_time(
    case_of: CaseOf, request_at, finished_at, is_it
) -> None:
    times = {"received_at": request_at, "finished_at": finished_at}
    case = case_of(marker(), {k: v for k, v in served(**times).items() if v is not None})
    assert (confirmed(case), flagged(case)) == (["A"] if is_it else [], not is_it)


OWN = {"hop": "gateway", "request_id": "r", "tenant_id": "A", "received_at": SEEN}
OWN |= {"http_status": 200, "completion_tokens": 3, "prompt_tokens": 50}


@pytest.mark.parametrize(("minutes", "is_it"), [(0, True), (5, False), (50, False)])
def test_the_testers_own_record_does_not_bring_a_later_request_near(
    case_of: CaseOf, minutes, is_it
) -> None:
    # Its record is the gateway's of that id, so that it joins what has that id: its time is
    # that of the marker by construction, and says nothing of the engine's.
    case = case_of(marker(), OWN, served(received_at=at(minutes)))
    assert (confirmed(case), flagged(case)) == (["A"] if is_it else [], not is_it)


def test_a_log_line_of_a_requests_end_fits_by_the_end_that_the_tester_saw(case_of: CaseOf) -> None:
    late = served(received_at=at(5))
    case = case_of(marker(), OWN | {"finished_at": at(5)}, late)
    assert (confirmed(case), flagged(case)) == (["A"], False)


def test_an_id_that_is_used_again_confirms_the_first_alone(case_of: CaseOf) -> None:
    again = served(tenant_id="B", received_at=at(30))
    case = case_of(marker(), served(), again)
    assert (confirmed(case), flagged(case)) == (["A"], True)
    undated = {name: value for name, value in marker().items() if name != "seen_at"}
    case = case_of(undated, served(), again)
    assert (confirmed(case), flagged(case)) == ([], True)


def test_two_accounts_under_one_id_at_one_time_are_told_apart_by_the_testers_record(
    case_of: CaseOf,
) -> None:
    other = served(tenant_id="B", received_at=at(0, 5))
    case = case_of(marker(), served(), other)
    assert (confirmed(case), flagged(case)) == ([], True)
    case = case_of(marker(), OWN, served(), other)
    assert (confirmed(case), flagged(case)) == (["A"], True)


def test_a_time_without_a_zone_is_of_the_zone_that_is_stated(case_of: CaseOf) -> None:
    zone = '[logs]\ntimezone = "Europe/Berlin"\n'
    local = marker(seen_at="2026-08-28T12:00:00")
    case = case_of(local, served(), incident=zone)
    assert (confirmed(case), flagged(case)) == (["A"], False)
    case = case_of(local, served(received_at="2026-08-28T12:00:00Z"), incident=zone)
    assert (confirmed(case), flagged(case)) == ([], True)


def test_it_does_not_matter_which_record_is_in_which_file(node_logs) -> None:
    records = [json.dumps(one) for one in (marker(), OWN, served(received_at=at(5)))]
    for files in ([records], [records[:1], records[1:]], [[one] for one in records]):
        case = node_logs({f"{n}.ndjson": lines for n, lines in enumerate(files)})
        assert (confirmed(case), flagged(case)) == ([], True)


def test_a_clock_of_unknown_zone_neither_fits_nor_contradicts(node_logs) -> None:
    # The time of a plain record needs a zone; an engine's line is taken as UTC and said so.
    line = (
        "[2026-08-28 12:00:00 TP0] Finish: obj=GenerateReqInput(rid='r'), "
        "out={'meta_info': {'id': 'r', 'finish_reason': {'type': 'stop', 'matched': 1}, "
        "'prompt_tokens': 50, 'completion_tokens': 3, 'cached_tokens': 0}}"
    )
    found = '{"marker": "ab12", "planted_request_id": "o", "seen_request_id": "r", "seen_at": "%s"}'
    case = node_logs({"decode-01": [line], "canary.ndjson": [found % SEEN]})
    rows = case.requests.polars()
    assert (rows["tier"].to_list(), flagged(case)) == (["confirmed"], False)
    case = node_logs({"decode-01": [line], "canary.ndjson": [found % "2026-08-30T12:00:00Z"]})
    assert (case.requests.polars()["tier"].to_list(), flagged(case)) == (["not_assessable"], True)
