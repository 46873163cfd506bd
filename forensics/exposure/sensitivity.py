"""Sensitivity in the document: the counts under neighbouring choices."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class Neighbour(Struct, frozen=True):
    """One choice: requests by tier, those at or over the limit, and how many change their tier."""

    kind: Literal["as judged", "threshold", "window", "clock", "join", "scope"]
    choice: str
    confirmed: int
    probable: int
    possible: int
    ruled_out: int
    not_assessable: int
    over_limit: int
    moved: int
