"""The pictures on paper: what matters most of the report, drawn as shapes at fixed places.

Paper has no pointer to ask and may be grey, so a picture here says its numbers in words, and
no tier is told from another by its colour alone.
"""

from __future__ import annotations

from forensics.exposure import Exposure
from forensics.report.plates import days, lengths, tenants
from forensics.report.plates.ink import Plate


def plates(exposure: Exposure) -> dict[str, list[Plate]]:
    """Return the pictures of each part of the report that has some, by the part's id."""
    drawn = {
        "recipients-part": (
            days.draw(exposure),
            lengths.draw(exposure),
            tenants.draw(exposure.recipients, "Recipients: listed requests"),
        ),
        "sources-part": (
            tenants.draw(exposure.sources, "Sources: responses that may hold their data"),
        ),
    }
    return {part: [one for one in some if one is not None] for part, some in drawn.items()}
