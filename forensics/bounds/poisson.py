"""Exact limits of the mean of a count (Garwood 1936), for counts of a small share of all."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, lgamma, log, sqrt

_STEPS = 100
"""Halvings of an interval: more than a float can tell apart."""


def mean_limits(found: int, level: float) -> tuple[float, float]:
    """Return the two-sided limits of the mean of which so many were found.

    Args:
        found: the count.
        level: such as 0.95; each tail holds half of the rest.
    """
    tail, most = (1 - level) / 2, 20 + found + 20 * sqrt(found + 1)
    low = 0.0 if found == 0 else _root(lambda mean: 1 - _at_most(found - 1, mean) >= tail, most)
    return low, _root(lambda mean: _at_most(found, mean) <= tail, most)


def _at_most(found: int, mean: float) -> float:
    """Return the probability of at most so many where so many are to be expected."""
    if mean <= 0:
        return 1.0
    return min(1.0, sum(exp(k * log(mean) - mean - lgamma(k + 1)) for k in range(found + 1)))


def _root(beyond: Callable[[float], bool], most: float) -> float:
    """Return the mean from which on a condition holds."""
    low, high = 0.0, most
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if beyond(middle) else (middle, high)
    return (low + high) / 2
