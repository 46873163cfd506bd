"""The result of a validation, and the last one that is kept with the package."""

from __future__ import annotations

from importlib.resources import files

import msgspec
from msgspec import Struct

from forensics._version import __version__

FILE = "results.json"


class Interval(Struct, frozen=True):
    """A share with its two-sided limits of 95 %; all None where there was nothing to count."""

    found: int
    of: int
    low: float | None
    high: float | None


class Situation(Struct, frozen=True):
    """Error rates in one situation of the logs.

    ``precision`` is of confirmed and probable responses, ``recall`` of affected ones that are
    confirmed, probable or possible, ``sure`` of those that are confirmed or probable.
    ``covered`` counts incidents whose true number lies within the stated bound;
    ``ruled_out`` affected responses in the logs that were ruled out.
    """

    name: str
    incidents: int
    affected: int
    precision: Interval
    recall: Interval
    sure: Interval
    covered: Interval
    ruled_out: int


class Results(Struct, frozen=True):
    """All situations, by which version, on which seeds."""

    version: str
    first_seed: int
    seeds: int
    situations: list[Situation]


def shown(interval: Interval) -> str:
    """Return an interval in words: how many of how many, and the limits in percent."""
    if interval.low is None or interval.high is None:
        return "nothing to count"
    spread = f"{100 * interval.low:.1f} to {100 * interval.high:.1f} %"
    return f"{interval.found:,} of {interval.of:,} ({spread})"


def encode(results: Results) -> bytes:
    """Return results as JSON; the same results give the same bytes."""
    return msgspec.json.format(msgspec.json.encode(results, order="sorted"), indent=2) + b"\n"


def stored() -> Results | None:
    """Return the last result that is kept with the package, whichever version it is of."""
    place = files("forensics.validation") / FILE
    if not place.is_file():
        return None
    return msgspec.json.decode(place.read_bytes(), type=Results)


def current(results: Results | None) -> bool:
    """Say whether a result is of this version."""
    return results is not None and results.version == __version__
