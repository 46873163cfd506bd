"""What the recall on seeded incidents says of the count."""

from __future__ import annotations

from forensics.bounds.statistical import imperfect_detector, missed_all
from forensics.exposure import StatisticalBound


def detector(certain: int, found: int, seeded: int, version: str) -> list[StatisticalBound]:
    """Return by how much the count could be larger if this tool misses what it missed before.

    Args:
        certain: confirmed and probable responses.
        found: seeded responses that were found.
        seeded: of how many.
        version: of the tool that was measured.
    """
    if not found:
        return []
    bound = imperfect_detector(certain, found, seeded) if certain else missed_all(found, seeded)
    high, point = int(bound.high or 0), int(bound.point or 0)
    here = f"the {certain:,} that were found here stand for" if certain else "none was found of"
    sentence = (
        f"Version {version} of this tool found {found:,} of {seeded:,} affected "
        f"responses of seeded incidents with all logs. If {bound.assumption}, {here} "
        f"at the most {high:,} ({bound.level:.0%}, {bound.sided}, {bound.method}); a "
        "fault of another kind than the seeded ones is in no such figure."
    )
    return [
        StatisticalBound(
            certain, high, point, bound.level, bound.sided, bound.method, bound.assumption, sentence
        )
    ]
