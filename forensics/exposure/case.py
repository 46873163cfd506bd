"""What was asked, by which tool, and what happened when."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from forensics.exposure.times import Time


class Tool(Struct, frozen=True):
    """What made the document."""

    name: str
    version: str


class Case(Struct, frozen=True):
    """Name of the case, its revision, and a hash of everything that was asked."""

    id: str
    title: str
    revision: int = 1
    supersedes: str = ""
    """Why this revision takes the place of the one before, as stated."""
    parameters_sha256: str = ""
    as_of: str | None = None
    """Day on which this revision is made, as stated."""


class Scope(Struct, frozen=True):
    """What was asked; None means that nothing was stated."""

    models: list[str]
    window_start: Time | None
    window_end: Time | None
    mechanism: str
    threshold_tokens: int | None
    slack_tokens: int
    sampling_rate: float


class Moment(Struct, frozen=True):
    """One dated event of the incident, as stated in the incident file or found in the logs."""

    name: str
    at: Time
    basis: Literal["stated", "found"]
