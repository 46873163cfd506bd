"""Stretches without a request in any log: a burst's end is none, however long the log."""

import numpy as np
import polars as pl
import pytest

from forensics.attribution.silences import Silences

MINUTE = 60_000_000
DAY = 24 * 60 * MINUTE


@pytest.fixture(scope="module")
def bursty() -> np.ndarray:
    """Two hundred bursts a day of ten requests each, one in ten seconds, for fifty days."""
    rng = np.random.default_rng(5)
    begun = rng.integers(0, 50 * DAY, 10_000)[:, None]
    return (begun + np.cumsum(rng.integers(1, MINUTE // 3, (10_000, 10)), axis=1)).ravel()


def spans(times: np.ndarray) -> list[tuple[int, int]]:
    return Silences.of(pl.Series(times)).spans


def test_a_complete_log_of_bursts_lost_nothing(bursty):
    assert spans(bursty) == []


def test_hours_that_are_gone_are_found_among_bursts(bursty):
    for hours in (3, 12):
        gone = (bursty > 20 * DAY) & (bursty < 20 * DAY + hours * 60 * MINUTE)
        ((begin, end),) = spans(bursty[~gone])
        assert begin <= 20 * DAY < 20 * DAY + hours * 60 * MINUTE <= end


def test_stamps_of_whole_seconds_are_no_bursts():
    second = MINUTE // 60
    times = np.repeat(np.arange(7_200), 50) * second
    gone = (times > 3_600 * second) & (times < 3_720 * second)
    assert spans(times[~gone]) == [(3_600 * second, 3_720 * second)]
