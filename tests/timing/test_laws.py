"""Seeded incidents without transfers and counts: who is found by time alone."""

import pytest

import forensics
from forensics.lab.timings import TimingConfig, draw, write


@pytest.mark.parametrize(("seed", "affected"), [(1, 0.002), (2, 0.05)])
def test_the_affected_are_probable_and_nobody_else(seed, affected, tmp_path):
    run = draw(TimingConfig(seed=seed, requests=6_000, affected=affected))
    write(run, tmp_path)
    case = forensics.read_logs(tmp_path, incident=tmp_path / "incident.toml")
    rows = case.requests.polars()
    probable = set(rows.filter(tier="probable")["request_id"])
    assert len(probable & run.affected) >= 0.99 * len(run.affected)
    assert len(probable & run.affected) >= 0.99 * len(probable)
    # As many prompts over the stated threshold were computed, and stay open.
    assert rows.filter(tier="possible").height > 0.5 * len(run.affected)


def test_heavy_caching_alone_makes_nobody_too_fast(tmp_path):
    run = draw(TimingConfig(seed=3, requests=10_000, affected=0, cached_share=0.9))
    write(run, tmp_path)
    rows = forensics.read_logs(tmp_path).analysis.requests
    assert rows["timing_fast"].drop_nulls().len() == 10_000
    assert rows["timing_fast"].sum() == 0
