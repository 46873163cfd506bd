"""Tails of the binomial and the hypergeometric, and their inversion, without tables.

Sums run over logarithms of factorials, so that large counts neither overflow nor vanish.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, lgamma, log, log1p

_STEPS = 200
"""Halvings of an interval: more than a float can tell apart."""


def at_most(found: int, trials: int, share: float) -> float:
    """Return the probability of at most ``found`` successes among ``trials``."""
    if found >= trials or share <= 0:
        return 1.0
    if share >= 1:
        return 0.0
    yes, no = log(share), log1p(-share)
    terms = (_choose(trials, k) + k * yes + (trials - k) * no for k in range(found + 1))
    return min(1.0, sum(map(exp, terms)))


def none_among(marked: int, total: int, drawn: int) -> float:
    """Return the probability that a draw without replacement meets none of the marked."""
    if marked > total - drawn:
        return 0.0
    return exp(_choose(total - marked, drawn) - _choose(total, drawn))


def exact_limits(found: int, trials: int, level: float) -> tuple[float, float]:
    """Return the two-sided limits of a share (Clopper and Pearson 1934).

    Args:
        found: successes.
        trials: at least 1.
        level: such as 0.95; each tail holds half of the rest.
    """
    tail = (1 - level) / 2
    low = 0.0 if found == 0 else _root(lambda p: 1 - at_most(found - 1, trials, p) >= tail)
    high = 1.0 if found == trials else _root(lambda p: at_most(found, trials, p) <= tail)
    return low, high


def largest(holds: Callable[[int], bool], start: int) -> int:
    """Return the largest number from ``start`` on for which a falling condition holds."""
    step = 1
    while holds(start + step):
        step *= 2
    low, high = start, start + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _root(beyond: Callable[[float], bool]) -> float:
    """Return the share from which on a condition holds."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if beyond(middle) else (middle, high)
    return (low + high) / 2


def _choose(total: int, drawn: int) -> float:
    return lgamma(total + 1) - lgamma(drawn + 1) - lgamma(total - drawn + 1)
