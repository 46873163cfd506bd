"""The benchmark of prefill times compares what it says, on incidents with a known truth."""

import pyarrow.parquet as pq
import pytest

from benchmarks import timingdata, timingrivals, timingspeed

OURS = "`forensics timing`"
DETECTORS = tuple(name for name in timingrivals.FINDERS if "scikit-learn" in name)
RULES = tuple(name for name in timingrivals.FINDERS if name not in DETECTORS)


def scored(finders):
    found = timingrivals.measured(requests=3_000, shares=(0.02,), finders=finders)
    return {one.finder: one for one in found}


@pytest.fixture(scope="module")
def scores():
    return scored(RULES)


def test_every_finder_is_scored_on_the_same_incident(scores):
    assert len(scores) == 3
    (affected,) = {one.affected for one in scores.values()}
    assert affected > 40
    for one in scores.values():
        assert one.right <= one.found
        assert one.right_over <= one.found_over <= one.found


def test_the_tokens_to_compute_tell_all_of_them_and_no_other(scores):
    ours = scores[OURS]
    assert (ours.found_over, ours.right_over) == (ours.affected, ours.affected)
    row = next(row for row in timingrivals.cells(list(scores.values())) if row[0] == OURS)
    assert row[5:7] == ["1.000", "1.000"]


@pytest.mark.long
def test_detectors_that_are_told_the_share_find_less():
    found = scored(DETECTORS)
    assert len(found) == 2
    assert all(one.right < 0.5 * one.affected for one in found.values())


def test_the_file_to_score_is_what_it_seems(tmp_path):
    timingdata.write(tmp_path / "times.parquet", 20_000)
    assert pq.read_metadata(tmp_path / "times.parquet").num_rows == 20_000
    fast, _slow = timingspeed.score(tmp_path / "times.parquet")
    assert 8 <= fast <= 40
    assert timingspeed.read(tmp_path / "times.parquet")[2] <= timingdata.CONTEXT_TOKENS
