"""The curve of expected times: what it finds, and what must not move it."""

import numpy as np
import pytest

from forensics.timing.fit import Curve, fit

LAW = Curve(fixed=55.0, token=0.05, pair=5e-8)


def points(size=300, seed=1):
    rng = np.random.default_rng(seed)
    uncached = np.exp(rng.uniform(np.log(8), np.log(600_000), size)).round()
    cached = np.where(rng.random(size) < 0.5, 0.0, uncached * rng.uniform(0, 20, size)).round()
    ms = LAW.at(uncached, cached) * rng.lognormal(0, 0.05, size)
    return uncached, cached, ms


def near(curve, **within):
    uncached, cached = np.array([1.0, 5e3, 6e5]), np.array([0.0, 1e5, 0.0])
    return curve.at(uncached, cached) == pytest.approx(LAW.at(uncached, cached), **within)


def test_it_finds_the_law_that_the_times_were_drawn_from():
    uncached, cached, ms = points()
    assert near(fit(uncached, cached, ms, np.ones_like(ms)), rel=0.05)


@pytest.mark.parametrize("seed", range(5))
def test_long_prompts_that_nobody_computed_do_not_draw_it_down(seed):
    """Two thirds of the points over 300,000 tokens took the time of one token."""
    uncached, cached, ms = points(seed=seed)
    rng = np.random.default_rng(seed)
    ms = np.where((uncached > 300_000) & (rng.random(len(ms)) < 0.66), 55.0, ms)
    assert near(fit(uncached, cached, ms, np.ones_like(ms)), rel=0.1)


def test_a_slow_tail_does_not_draw_it_up():
    uncached, cached, ms = points()
    rng = np.random.default_rng(2)
    ms = ms * np.where(rng.random(len(ms)) < 0.15, rng.uniform(3, 40, len(ms)), 1)
    assert near(fit(uncached, cached, ms, np.ones_like(ms)), rel=0.1)


def test_no_part_is_below_zero():
    """Times that fall with the work have no place in the law."""
    uncached = np.array([10.0, 100, 1_000, 10_000, 100_000, 200_000])
    ms = np.array([900.0, 700, 500, 300, 200, 100])
    curve = fit(uncached, np.zeros(6), ms, np.ones(6))
    assert min(curve.fixed, curve.token, curve.pair) >= 0


def test_points_of_one_size_leave_the_rest_open():
    curve = fit(np.full(6, 500.0), np.zeros(6), np.full(6, 80.0), np.ones(6))
    assert curve.at(np.array([500.0]), np.zeros(1)) == pytest.approx(80)


def test_the_order_of_the_points_does_not_matter():
    uncached, cached, ms = points()
    order = np.random.default_rng(3).permutation(len(ms))
    ones = np.ones_like(ms)
    assert fit(uncached, cached, ms, ones) == fit(uncached[order], cached[order], ms[order], ones)
