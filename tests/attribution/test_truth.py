"""The replay against the laboratory, which knows of each page who wrote it last."""

from random import Random

import polars as pl
import pytest

import forensics
from forensics import lab

SECOND = 1_000_000
_TIMES = ("received_at", "finished_at", "reserved_at", "released_at", "effective_at")


def coarse(run: lab.LabRun, seed: int):
    """Cut all times to the second, after moving the clock of each node by up to 250 ms."""
    from forensics.lab.clock import micros, rfc3339

    random = Random(seed)
    skews = {node.name: random.randint(-250_000, 250_000) for node in run.nodes}

    def change(name, rows):
        skew = skews.get(name.rpartition("/")[2], 0)
        for row in rows:
            for time in (name for name in _TIMES if name in row):
                moved = micros(str(row[time])) + skew
                row[time] = rfc3339(moved // SECOND * SECOND)
        return rows

    return change


def judged(tools, case: forensics.Case, run: lab.LabRun) -> list[tuple[float, bool]]:
    true = tools.true_pages(run)
    rows = tools.named(case).select("request_id", "source_request_id", "probability").iter_rows()
    return [(stated, (reader, owner) in true) for reader, owner, stated in rows]


def assert_nobody_is_missing(tools, case: forensics.Case, run: lab.LabRun) -> None:
    pairs = set(case.sources.polars().select("request_id", "source_tenant_id").iter_rows())
    assert tools.true_tenants(run) - pairs == set()


def test_complete_logs_of_idle_ranks_name_every_page(tools, idle, idle_case):
    recall, precision = tools.score(tools.named(idle_case), tools.true_pages(idle))
    assert recall >= 0.999
    assert precision >= 0.99
    assert_nobody_is_missing(tools, idle_case, idle)


def test_complete_logs_of_busy_ranks_name_every_page(tools, busy, tmp_path):
    case = forensics.read_logs(tools.write(busy, tmp_path))
    recall, precision = tools.score(tools.named(case), tools.true_pages(busy))
    assert recall >= 0.999
    assert precision >= 0.99
    assert_nobody_is_missing(tools, case, busy)


def test_what_is_named_is_probable_and_never_more(tools, idle, idle_case):
    rows = tools.named(idle_case)
    assert set(rows["tier"]) <= {"probable", "possible"}
    sure = rows.filter(pl.col("tier") == "probable")
    assert sure.height
    assert (sure["probability"] >= 0.9).all()
    assert (rows["origin"] == "decode").all()
    assert (rows["tokens"] == rows["pages"] * 64).all()


def test_pages_nobody_wrote_are_in_no_pair(tools, idle, idle_case):
    unread = {h.intent.request_id for h in idle.affected if not h.stale}
    assert unread
    assert set(tools.named(idle_case)["request_id"]).isdisjoint(unread)


def test_whole_seconds_leave_doubt_and_nobody_out(tools, idle, tmp_path):
    case = forensics.read_logs(tools.write(idle, tmp_path, coarse(idle, 1)))
    assert_nobody_is_missing(tools, case, idle)
    assert {stay.replays for stay in case.analysis.attribution.stays} <= {5, 20}
    assert tools.reliability(judged(tools, case, idle)) <= 0.05


def test_the_same_records_give_the_same_pairs(tools, idle, idle_case, tmp_path):
    def reversed_(_, rows):
        return rows[::-1]

    again = forensics.read_logs(tools.write(idle, tmp_path, reversed_))
    assert again.sources.polars().equals(idle_case.sources.polars())


@pytest.mark.long
def test_probabilities_hold_over_many_incidents(tools, tmp_path):
    """Whole seconds and clocks that are apart: what is said to be likely is as often true."""
    rows = []
    for seed in range(200):
        run = lab.simulate(lab.small(seed=seed, requests=(400, 900, 2_000)[seed % 3]))
        case = forensics.read_logs(tools.write(run, tmp_path / str(seed), coarse(run, seed)))
        assert_nobody_is_missing(tools, case, run)
        rows += judged(tools, case, run)
    assert len(rows) > 5_000
    assert any(stated < 0.9 for stated, _ in rows)
    assert tools.reliability(rows) <= 0.05


@pytest.mark.long
def test_complete_logs_of_other_seeds_name_every_page(tools, tmp_path):
    for seed in range(20):
        run = lab.simulate(lab.small(seed=seed, requests=(400, 4_000)[seed % 2]))
        case = forensics.read_logs(tools.write(run, tmp_path / str(seed)))
        recall, precision = tools.score(tools.named(case), tools.true_pages(run))
        assert recall >= 0.999, seed
        assert precision >= 0.99, seed
