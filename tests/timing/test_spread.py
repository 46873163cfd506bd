"""How wide the expectation is: by length, with what a node is off, and where few were seen."""

import numpy as np
import pytest

from forensics.timing.blocks import Block
from forensics.timing.ones import Ones
from forensics.timing.spread import Limits, Residuals, octave_of

CURVES = np.array([[40.0, 0.1, 1e-9], [40.0, 0.1, 1e-9]])
ANY = Ones(CURVES[:, 0], np.zeros(2), np.full(2, np.inf))


def limits(*lengths: tuple[int, int, float, float]) -> Limits:
    """Return what is found of some lengths: node, tokens, and median and width of the ratio."""
    residuals = Residuals(2)
    quantiles = np.linspace(-2, 2, 81)
    for node, tokens, middle, width in lengths:
        size = len(quantiles) if width else 3
        work, none = np.full(size, tokens), np.zeros(size, dtype=np.int64)
        expected = np.full(size, 100.0)
        ms = expected * np.exp(middle + width * quantiles[:size])
        over = np.zeros(size, dtype=np.bool_)
        groups = (("s", "m", "a", None), ("s", "m", "b", None))
        block = Block(groups, none, none + node, work, none, ms, over, ~over, none.copy)
        residuals.add(block, none + node, expected)
    return residuals.limits(np.zeros(2, dtype=np.int64), CURVES, ANY)


def low(found: Limits, node: int, tokens: int) -> float:
    return float(found.low[node, octave_of(np.array([tokens]))[0]])


SHORT, LONG, LONGER = 100, 10_000, 90_000


def test_each_length_has_a_width_of_its_own():
    found = limits((0, SHORT, 0.0, 0.4), (0, LONG, 0.0, 0.1))
    assert low(found, 0, SHORT) > 3 * low(found, 0, LONG)


def test_a_length_with_few_requests_has_that_of_the_next_shorter_one():
    found = limits((0, SHORT, 0.0, 0.4), (0, LONG, 0.0, 0.1), (0, LONGER, 0.0, 0.0))
    assert low(found, 0, LONGER) == low(found, 0, LONG) < low(found, 0, SHORT)
    assert found.longest.tolist() == [LONG, LONG]


def test_a_length_that_lies_off_the_curve_is_wider():
    usual = [(0, SHORT, 0.0, 0.1)] * 3
    at, off = (limits(*usual, (0, LONG, off, 0.1)) for off in (0.0, 0.4))
    assert low(off, 0, LONG) == pytest.approx(low(at, 0, LONG) + 0.4, abs=0.08)
    assert low(off, 0, SHORT) == pytest.approx(low(at, 0, SHORT), abs=0.08)


def test_a_node_that_is_off_its_curve_is_wider_than_the_others():
    found = limits(*((0, LONG, 0.0, 0.1) for _ in range(3)), (1, LONG, 0.3, 0.1))
    assert low(found, 1, LONG) == pytest.approx(low(found, 0, LONG) + 0.3, abs=0.06)
