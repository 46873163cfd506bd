"""Bounds that need an assumption: each says its level, its side and what it assumes.

None of them holds where what was lost has to do with what is counted: large requests time
out and crash engines more often than others. The arithmetic bound leads for that reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log, sqrt
from typing import Literal

from forensics.bounds.binomial import at_most, exact_limits, largest, none_among
from forensics.bounds.poisson import mean_limits

LEVEL = 0.95
_FEW = 1e-12
"""Shares and rates are compared as decimals, not as the bits that stand for them."""


@dataclass(frozen=True)
class Estimate:
    """What a count or a share may be.

    ``low`` and ``high`` are its limits, None where the bound has none on that side;
    ``point`` the single best figure where the method gives one.
    """

    method: str
    low: float | None
    high: float | None
    point: float | None
    level: float
    sided: Literal["one-sided", "two-sided"]
    assumption: str


_ALIKE = "whether a record was kept has nothing to do with what is counted"


def kept_at_rate(seen: int, rate: float, level: float = LEVEL) -> Estimate:
    """How many there were, of which ``seen`` are left where a share ``rate`` was kept.

    The largest total of which so few would be left with a probability above ``1 - level``.

    Raises:
        ValueError: the rate is no share above 0.
    """
    if not 0 < rate <= 1:
        raise ValueError("a rate lies above 0 and is at most 1")
    high = largest(lambda total: at_most(seen, total, rate) > 1 - level, seen)
    return Estimate(
        "binomial inversion", seen, high, round(seen / rate), level, "one-sided", _ALIKE
    )


def kept_at_small_rate(seen: int, rate: float, level: float = LEVEL) -> Estimate:
    """How many there were to both sides, of which ``seen`` are left of a small share ``rate``.

    The limits of a Poisson mean (quantiles of chi-square) over the rate.

    Raises:
        ValueError: the rate is no share above 0.
    """
    if not 0 < rate <= 1:
        raise ValueError("a rate lies above 0 and is at most 1")
    low, high = (limit / rate for limit in mean_limits(seen, level))
    least = max(seen, ceil(low - _FEW))
    return Estimate(
        "Poisson scaling", least, int(high + _FEW), round(seen / rate), level, "two-sided", _ALIKE
    )


def none_in_review(reviewed: int, level: float = LEVEL) -> Estimate:
    """Which share may be affected where a review of so many found none.

    Raises:
        ValueError: nothing was reviewed.
    """
    _positive(reviewed)
    high = 1 - (1 - level) ** (1 / reviewed)
    assumed = "reviews are independent and miss nothing"
    return Estimate("exact, none found", 0, high, 0, level, "one-sided", assumed)


def none_in_sample(total: int, drawn: int, level: float = LEVEL) -> Estimate:
    """How many of ``total`` may be affected where a sample of ``drawn`` held none.

    Raises:
        ValueError: nothing was drawn, or more than there is.
    """
    _positive(drawn)
    if drawn > total:
        raise ValueError("a sample is no larger than what it is drawn from")
    high = largest(lambda n: none_among(n, total, drawn) > 1 - level, 0)
    assumed = "the sample was drawn at random, without replacement"
    return Estimate("hypergeometric inversion", 0, high, 0, level, "one-sided", assumed)


def share(found: int, reviewed: int, level: float = LEVEL) -> Estimate:
    """Which share is affected where ``found`` of ``reviewed`` are.

    Raises:
        ValueError: nothing was reviewed, or more was found than reviewed.
    """
    _positive(reviewed)
    if not 0 <= found <= reviewed:
        raise ValueError("no more can be found than were reviewed")
    low, high = exact_limits(found, reviewed, level)
    assumed = "reviews are independent and miss nothing"
    return Estimate("Clopper-Pearson", low, high, found / reviewed, level, "two-sided", assumed)


def imperfect_detector(count: int, found: int, seeded: int, level: float = LEVEL) -> Estimate:
    """How many there were where a detector found ``found`` of ``seeded`` known cases.

    The count is divided by the lower limit of the detector's recall.

    Raises:
        ValueError: no case was seeded, or none of them was found.
    """
    recall = share(found, seeded, 1 - 2 * (1 - level)) if found < seeded else None
    low = recall.low if recall is not None else (1 - level) ** (1 / seeded)
    if not low:
        raise ValueError("a detector that found no seeded case bounds nothing")
    assumed = "seeded cases resemble real ones"
    high = int(count / low + _FEW)
    return Estimate(
        "recall on seeded cases",
        count,
        high,
        round(count * seeded / found),
        level,
        "one-sided",
        assumed,
    )


def missed_all(found: int, seeded: int, level: float = LEVEL) -> Estimate:
    """How many there may be where a detector found none, and ``found`` of ``seeded`` known cases.

    The largest number that the detector misses whole, at the lower limit of its recall. Recall and
    luck may both be off: each gets half of ``1 - level``.

    Raises:
        ValueError: no case was seeded, or none of them was found.
    """
    _positive(seeded)
    recall = exact_limits(found, seeded, level)[0]
    if not recall:
        raise ValueError("a detector that found no seeded case bounds nothing")
    high = largest(lambda total: at_most(0, total, recall) > (1 - level) / 2, 0)
    assumed = "seeded cases resemble real ones, and each is found or missed by itself"
    return Estimate("recall on seeded cases", 0, high, 0, level, "one-sided", assumed)


def two_detectors(first: int, second: int, both: int) -> Estimate:
    """How many there were where two detectors found so many, and so many in common.

    Chapman's estimate with twice its standard error. Detectors that like the same easy
    cases understate it: "at least about", never alone.

    Raises:
        ValueError: more in common than one of them found.
    """
    if not 0 <= both <= min(first, second):
        raise ValueError("no more can be common than each detector found")
    point = (first + 1) * (second + 1) / (both + 1) - 1
    spread = sqrt(
        (first + 1)
        * (second + 1)
        * (first - both)
        * (second - both)
        / ((both + 1) ** 2 * (both + 2))
    )
    seen = first + second - both
    assumed = "the detectors are independent of each other"
    return Estimate(
        "Chapman capture-recapture",
        max(seen, point - 2 * spread),
        point + 2 * spread,
        point,
        LEVEL,
        "two-sided",
        assumed,
    )


def rule_of_none(rate: float, level: float = LEVEL) -> float:
    """Return the total above which a sample at ``rate`` would hardly have held none."""
    return log(1 - level) / log(1 - rate)


def effective(requests: int, tenants: int, correlation: float) -> float:
    """Return how many independent requests so many of so few tenants are worth (Kish).

    Args:
        requests: their number.
        tenants: how many groups they fall into, of about one size.
        correlation: of requests within a group, from 0 to 1.
    """
    _positive(tenants)
    return requests / (1 + (requests / tenants - 1) * correlation)


def _positive(count: int) -> None:
    if count < 1:
        raise ValueError("at least one is needed")
