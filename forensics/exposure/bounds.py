"""Bounds of shares, and error rates on seeded incidents, in the document."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class ShareBound(Struct, frozen=True):
    """Which share is affected: its limits, their level and side, and a sentence that says all."""

    name: Literal["none found", "not judged", "tenants"]
    low: float
    high: float
    level: float
    sided: Literal["one-sided", "two-sided"]
    method: str
    sentence: str


class ErrorRate(Struct, frozen=True):
    """Error rates of this version where logs are kept in one way; shares with their limits."""

    situation: str
    incidents: int
    affected: int
    precision: str
    recall: str
    sure: str
    covered: str
    ruled_out: int


class Validated(Struct, frozen=True):
    """What is known of this version's errors: a sentence, and the rates; none if not validated."""

    sentence: str = "This version was not validated on seeded incidents."
    rates: list[ErrorRate] = []
