"""What hours that are missing say of the count: records were lost, nobody knows of whom."""

from __future__ import annotations

from forensics.bounds.statistical import kept_at_rate
from forensics.exposure import StatisticalBound


def lost(certain: int, missing: int, hours: int, hop: str) -> list[StatisticalBound]:
    """Return by how much the count could be larger where node hours are missing.

    Args:
        certain: confirmed and probable responses in the logs.
        missing: node hours of the hop that lacks the most, without records that were due.
        hours: its node hours in all.
        hop: which one.
    """
    if not missing or missing >= hours:
        return []
    rate = 1 - missing / hours
    found = kept_at_rate(certain, rate)
    high, point = int(found.high or 0), int(found.point or 0)
    sentence = (
        f"{certain:,} confirmed or probable responses were found, and {missing:,} of "
        f"{hours:,} node hours of {hop} logs are missing: they hold {rate:.1%} of these. "
        f"If {found.assumption}, there "
        f"were about {point:,}, and at the most {high:,} ({found.level:.0%}, {found.sided}, "
        f"{found.method}); if hours with large requests were lost more often, it could be more."
    )
    return [
        StatisticalBound(
            certain, high, point, found.level, found.sided, found.method, found.assumption, sentence
        )
    ]
