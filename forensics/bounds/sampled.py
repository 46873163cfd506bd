"""What a sample of the requests says of all of them."""

from __future__ import annotations

from forensics.bounds.statistical import kept_at_rate, kept_at_small_rate
from forensics.exposure import StatisticalBound

OF_A_SAMPLE = "arithmetic over a sample"
"""Name of the arithmetic ends where a share of the requests was logged: the total is larger."""
SMALL = 0.1
"""Up to this rate a count of what was logged is as good as Poisson."""


def sampled(certain: int, rate: float) -> list[StatisticalBound]:
    """Return by how much the count could be larger where only a share was logged.

    Args:
        certain: confirmed and probable responses in the logs.
        rate: share of requests that was logged; 1 where it was all.
    """
    if rate >= 1:
        return []
    found = kept_at_rate(certain, rate)
    high, point = int(found.high or 0), int(found.point or 0)
    sentence = (
        f"{certain:,} confirmed or probable responses were found in logs that hold {rate:g} of all "
        f"requests. If {found.assumption}, there were about {point:,}, and at the most {high:,} "
        f"({found.level:.0%}, {found.sided}, {found.method}); if large requests were logged less "
        "often than others, it could be more."
    )
    bound = StatisticalBound(
        certain, high, point, found.level, found.sided, found.method, found.assumption, sentence
    )
    return [bound, *_both_sides(certain, rate)]


def of_a_sample(rate: float) -> list[str]:
    """Say that the logs hold a share of the requests only, where they do."""
    return [f"the logs are a sample of {rate:g} of all requests"] if rate < 1 else []


def _both_sides(certain: int, rate: float) -> list[StatisticalBound]:
    """Return how few and how many there can have been, where the share is small."""
    if rate > SMALL:
        return []
    found = kept_at_small_rate(certain, rate)
    low, high, point = int(found.low or 0), int(found.high or 0), int(found.point or 0)
    sentence = (
        f"To both sides, between {low:,} and {high:,} ({found.level:.0%}, {found.sided}, "
        f"{found.method}), if {found.assumption}."
    )
    return [
        StatisticalBound(
            low, high, point, found.level, found.sided, found.method, found.assumption, sentence
        )
    ]
