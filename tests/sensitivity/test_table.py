"""Counts under neighbouring choices: judged again, and only where a choice touches a request."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import forensics
from forensics import lab
from forensics.sensitivity import Outcome, Stand, choices, table

WINDOW = (
    '[scope]\nwindow = ["2026-03-02T09:00:00Z", "2026-03-02T12:00:00Z"]\nmodels = ["glm-5.3"]\n'
)


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> forensics.Case:
    folder = tmp_path_factory.mktemp("run")
    lab.write_plain(lab.simulate(lab.small(seed=5)), folder)
    (folder / "incident.toml").write_text(WINDOW)
    return forensics.read_logs(folder / "logs", incident=folder / "incident.toml")


def stand(case: forensics.Case) -> Stand:
    a = case.analysis
    return Stand(a.ready, a.requests, a.prefill_logs, a.incident, a.markers.handoffs)


def counts(case: forensics.Case) -> dict[str, int]:
    tiers = ("confirmed", "probable", "possible", "ruled_out", "not_assessable")
    held = case.requests.polars()["tier"]
    return {tier: int((held == tier).sum()) for tier in tiers}


def test_the_first_row_is_the_report_itself(case: forensics.Case) -> None:
    first, *others = table(stand(case))
    assert (first.kind, first.tiers, first.moved) == ("as judged", counts(case), 0)
    assert {row.kind for row in others} == {"threshold", "window", "clock", "scope"}
    assert [row.choice for row in case.exposure().sensitivity][1:] == [o.name for o in others]


def test_a_window_is_judged_as_if_it_had_been_stated(case: forensics.Case, tmp_path: Path) -> None:
    later = WINDOW.replace("T09:00", "T10:00")
    (tmp_path / "later.toml").write_text(later)
    logs = Path(case.run.arguments["logs"][0])
    stated = forensics.read_logs(logs, incident=tmp_path / "later.toml")
    row = named(case, "the window starts an hour later")
    assert row.tiers == counts(stated)
    assert row.moved > 0
    every = named(case, "no window: everything read")
    (tmp_path / "none.toml").write_text('[scope]\nmodels = ["glm-5.3"]\n')
    assert every.tiers == counts(forensics.read_logs(logs, incident=tmp_path / "none.toml"))


@pytest.mark.parametrize(
    ("way", "start", "end"), [("earlier", "09:05", "12:05"), ("later", "08:55", "11:55")]
)
def test_times_of_all_requests_move_as_the_window_would_the_other_way(
    case: forensics.Case, tmp_path: Path, way: str, start: str, end: str
) -> None:
    """The engines' starts lie hours before, so that nothing but the window's edges tells."""
    (tmp_path / "moved.toml").write_text(WINDOW.replace("09:00", start).replace("12:00", end))
    logs = Path(case.run.arguments["logs"][0])
    stated = forensics.read_logs(logs, incident=tmp_path / "moved.toml")
    row = named(case, f"the times of requests 5 min {way}")
    assert row.tiers == counts(stated)


def named(case: forensics.Case, name: str) -> Outcome:
    (row,) = [row for row in table(stand(case)) if row.name == name]
    return row


def test_what_a_choice_does_not_touch_would_not_have_moved(case: forensics.Case) -> None:
    """Judging everything again gives the same counts as judging what is touched."""
    here = stand(case)
    quick = table(here)
    whole = [replace(choice, touches=pl.lit(value=True)) for choice in listed(case)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("forensics.sensitivity.outcomes.choices", lambda *_: whole)
        assert table(here) == quick


def listed(case: forensics.Case) -> list:
    a = case.analysis
    return choices(a.incident, a.ready, a.capacity.epochs)


POOL = {"node": "p1", "role": "prefill", "engine": "sglang", "pool_tokens": 681_280}
POOL |= {"context_tokens": 1_048_576, "disaggregated": True, "page_tokens": 64}


def test_the_derived_limit_and_the_pool_itself_are_told_apart(case_of) -> None:
    prompts = (681_273, 681_274, 681_279, 681_280, 681_281, 690_000)
    rows = [
        {"request_id": f"r{n}", "received_at": "2026-09-01T00:00:00Z", "prefill_node": "p1"}
        | {"prompt_tokens": n, "http_status": 200}
        for n in prompts
    ]
    found = {row.name: row for row in table(stand(case_of(POOL, *rows)))}
    assert found["as judged"].over_limit == 5
    assert found["over from 681,274 tokens on: the input limit in force"].over_limit == 5
    pool = found["over from 681,281 tokens on: longer than the pool"]
    assert (pool.over_limit, pool.tiers["possible"], pool.moved) == (2, 2, 3)
    five = {row.name: row for row in table(stand(case_of(POOL, *rows, incident=STATED)))}
    assert five["as judged"].over_limit == 2
    assert five["over from 681,281 tokens on: longer than was stated"].moved == 0
    derived = five["over from 681,274 tokens on: what follows from pool and window"]
    assert (derived.over_limit, derived.moved) == (5, 3)


STATED = "[trigger]\nthreshold_tokens = 681280\n"
