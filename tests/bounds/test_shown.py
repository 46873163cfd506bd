"""Each bound is shown where its situation arises, with level, side and assumption."""

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import forensics
from forensics._version import __version__
from forensics.assemble import bounds
from forensics.bounds.clustered import clustered, correlation
from forensics.bounds.detector import detector
from forensics.bounds.lost import lost
from forensics.bounds.none_found import none_found
from forensics.validation.results import Interval, Results, Situation

CaseOf = Callable[..., forensics.Case]


def row(number: int, **values: Any) -> dict[str, Any]:
    return {
        "request_id": f"r{number}",
        "tenant_id": "abc"[number % 3],
        "received_at": f"2026-09-01T{number // 25:02}:{number % 25 * 60 // 25:02}:00Z",
        "decode_node": "d1",
        "hop": "decode",
        "reserved_pages": 9,
        "transferred_pages": 9,
        "completion_tokens": 4,
    } | values


WHOLE = [row(n) for n in range(100)]
GAP = [r for r in WHOLE if not r["received_at"].startswith("2026-09-01T02")]


def short(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [rows[0] | {"transferred_pages": 1}, *rows[1:]]


def methods(case: forensics.Case) -> list[str]:
    return [bound.method for bound in case.exposure().headline.further_bounds]


def test_a_missing_hour_brings_its_bound_and_says_what_it_assumes(case_of: CaseOf) -> None:
    assert "binomial inversion" not in methods(case_of(*short(WHOLE)))
    case = case_of(*short(GAP))
    (bound,) = [b for b in case.exposure().headline.further_bounds if "binomial" in b.method]
    assert (bound.low, bound.level, bound.sided) == (1, 0.95, "one-sided")
    for said in ("1 of 4 node hours of", "75.0%", "95%", "one-sided", "nothing to do with"):
        assert said in bound.sentence
    shares = case.exposure().share_bounds
    assert [bound.name for bound in shares] == ["tenants"]
    assert "1 of 3 tenants" in shares[0].sentence


@pytest.mark.parametrize("hour", ["09", "01"], ids=["nothing", "another hour"])
def test_hours_that_are_not_all_that_was_lost_bring_no_share(case_of: CaseOf, hour: str) -> None:
    """A response shows where each hop has its record: the share of one hop's hours is too large."""
    sides = [
        {"request_id": r["request_id"], "received_at": r["received_at"], "hop": "prefill",
         "prefill_node": "p1", "prefill_prompt_tokens": 9, "transferred_pages": 9}
        for r in WHOLE
        if not r["received_at"].startswith(f"2026-09-01T{hour}")
    ]  # fmt: skip
    case = case_of(*short(GAP), *sides)
    shown = case.exposure()
    assert ("losses_without_a_share" in {limit.code for limit in shown.limitations}) == (
        hour == "01"
    )
    assert ("binomial inversion" in methods(case)) == (hour == "09")


def test_recall_with_all_logs_bounds_no_count_of_logs_that_lack_some(
    case_of: CaseOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = Interval(20, 20, 0.83, 1.0)
    one = Situation(bounds.ALL_LOGS, 1, 20, every, every, every, every, 0)
    monkeypatch.setattr(bounds, "stored", lambda: Results(__version__, 1, 1, [one]))
    said = [
        any("seeded incidents" in b.sentence for b in case.exposure().headline.further_bounds)
        for case in (case_of(*short(WHOLE)), case_of(*short(GAP)))
    ]
    assert said == [True, False]


def test_none_found_is_a_share_and_never_nothing(case_of: CaseOf) -> None:
    (bound,) = case_of(*WHOLE).exposure().share_bounds
    assert (bound.name, bound.low, round(bound.high, 4)) == ("none found", 0, 0.0295)
    for said in ("None of 100", "95%", "one-sided", "if reviews are independent"):
        assert said in bound.sentence
    assert case_of(*short(WHOLE)).exposure().share_bounds == []


POOLS = '[[capacity]]\nnode = "p*"\nrole = "prefill"\nengine = "sglang"\npool_tokens = 1000000\n'


def test_whose_record_an_engines_logs_lack_is_none_that_was_looked_at(case_of: CaseOf) -> None:
    """The log of p2 was not given, and p1's counts no pages: length alone rules requests out."""
    rows = [
        {"request_id": f"r{n}", "received_at": f"2026-09-01T0{n // 30}:{n % 30:02}:00Z",
         "hop": hop, "prefill_node": f"p{1 + n % 2}", "prompt_tokens": 640, "http_status": 200}
        for n in range(90) for hop in ("gateway", "decode", "prefill")
        if hop != "prefill" or n % 2
    ]  # fmt: skip
    case = case_of(*rows, incident=POOLS)
    assert set(case.requests.polars()["tier"]) == {"ruled_out"}
    first, rest = case.exposure().share_bounds
    assert "None of 45 requests" in first.sentence
    assert "Of the 45 requests" in rest.sentence


def test_what_could_not_be_judged_has_a_bound_of_its_own() -> None:
    first, rest = none_found(50, 150)
    assert rest.high == pytest.approx(10 / 150)
    assert "at the most 10 are affected" in rest.sentence
    assert "hardly ever missing at random" in rest.sentence
    assert first.high == pytest.approx(1 - 0.05 ** (1 / 50))
    assert none_found(0, 5) == []


def test_recall_on_seeded_incidents() -> None:
    (bound,) = detector(155, 20, 20, "1.2.3")
    assert (bound.low, bound.high, bound.sided) == (155, 180, "one-sided")
    for said in ("Version 1.2.3", "20 of 20", "seeded cases resemble real ones", "180", "95%"):
        assert said in bound.sentence
    (none,) = detector(0, 20, 20, "1")
    assert (none.low, none.high, none.point) == (0, 2, 0)
    assert "none was found of at the most 2 (95%, one-sided" in none.sentence
    assert detector(5, 0, 20, "1") == []


def test_a_validation_that_found_nothing_is_said_to_bound_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    none = Interval(0, 20, 0.0, 0.17)
    one = Situation(bounds.ALL_LOGS, 1, 20, none, none, none, none, 0)
    results = Results(__version__, 1, 1, [one])
    monkeypatch.setattr(bounds, "stored", lambda: results)
    assert "found none of 20 affected responses" in (bounds.error_rates().sentence or "")


def test_hours_are_only_counted_where_some_are_missing_and_some_are_left() -> None:
    assert lost(155, 0, 100, "decode") == lost(155, 100, 100, "decode") == []
    (bound,) = lost(155, 3, 100, "decode")
    assert (bound.point, bound.high) == (160, 164)


def tenants(*counts: tuple[int, int]) -> pl.DataFrame:
    return pl.DataFrame({"n": [n for n, _ in counts], "k": [k for _, k in counts]})


def test_requests_of_one_tenant_are_alike() -> None:
    assert correlation(tenants((10, 10), (10, 0), (10, 10), (10, 0))) == pytest.approx(1)
    assert correlation(tenants((10, 5), (10, 5), (10, 5))) == 0
    hits = pl.DataFrame(
        {"tenant_id": ["a"] * 10 + ["b"] * 10 + [None], "hit": [True] * 10 + [False] * 11}
    )
    (bound,) = clustered(hits)
    assert "1 of 2 tenants" in bound.sentence
    assert "20 requests tell as much as about 2 independent ones" in bound.sentence
    assert clustered(hits.filter(~pl.col("hit"))) == []
