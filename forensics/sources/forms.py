"""The forms of line or record that a format consists of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Form:
    """One form: what it is called, which versions write it, and what it shows.

    Tests hold one positive and one near-miss example of each, under its name.
    """

    name: str
    title: str
    versions: str
    shows: str
