"""Thirty seeded incidents without transfers and counts, and a million clean requests."""

from dataclasses import replace

import pytest

import forensics
from forensics.lab.laws import Law
from forensics.lab.timings import TimingConfig, draw, write

pytestmark = pytest.mark.long
SEEDS = range(30)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_affected_are_probable_and_nobody_else(seed, tmp_path):
    """From one request in a thousand to one in twenty."""
    affected = 0.001 * 50 ** (seed / (len(SEEDS) - 1))
    run = draw(TimingConfig(seed=1_000 + seed, requests=40_000, affected=affected))
    write(run, tmp_path)
    case = forensics.read_logs(tmp_path, incident=tmp_path / "incident.toml")
    probable = set(case.requests.polars().filter(tier="probable")["request_id"])
    right = len(probable & run.affected)
    assert right >= 0.99 * len(run.affected)
    assert right >= 0.99 * len(probable)


SMALL = {"context_tokens": 65_536, "large_pool_tokens": 100_000}
HARD = {
    "pool of two chunks": ({"pool_tokens": 16_384, **SMALL}, 0.95),
    "busy batches": ({"pool_tokens": 32_768, "law": replace(Law(), shared=0.8), **SMALL}, 0.98),
}
"""Each with the share that is found at the least."""


@pytest.mark.parametrize(("setting", "least"), HARD.values(), ids=HARD)
def test_where_a_placeholder_takes_a_third_of_a_prompt_some_stay_open_and_nobody_is_added(
    setting, least, tmp_path
):
    """It waits for the other prompts of its batch: up to a whole chunk of a pool of two or four."""
    run = draw(TimingConfig(seed=1_024, requests=40_000, affected=0.025, **setting))
    write(run, tmp_path)
    case = forensics.read_logs(tmp_path, incident=tmp_path / "incident.toml")
    rows = case.requests.polars()
    probable = set(rows.filter(tier="probable")["request_id"])
    assert probable <= run.affected
    assert len(probable) >= least * len(run.affected)
    assert run.affected <= probable | set(rows.filter(tier="possible")["request_id"])


@pytest.mark.parametrize("seed", [1, 2])
def test_a_million_clean_requests_with_heavy_caching_hold_nobody_too_fast(seed, tmp_path):
    run = draw(TimingConfig(seed=seed, requests=1_000_000, affected=0, cached_share=0.9))
    write(run, tmp_path)
    rows = forensics.read_logs(tmp_path).analysis.requests
    assert rows["timing_fast"].drop_nulls().len() == 1_000_000
    assert rows["timing_fast"].sum() == 0
