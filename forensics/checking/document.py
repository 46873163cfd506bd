"""What a check found: one frozen document, printed as text or as JSON.

It holds names, counts and dates; never a line.
"""

from __future__ import annotations

from msgspec import Struct

SCHEMA_VERSION = 1

Day = str
"""A day of UTC: ``2026-08-27``."""


class FileFound(Struct, frozen=True):
    """One file; ``label`` is as much of its name as tells it from the others, as it is shown.

    ``node`` is told by its name, ``nodes`` are those that its records name. ``how`` says what
    was read of it; ``records`` counts lines or rows, exact where ``exact``;
    ``filled`` gives the share of its request records that have a value, by column;
    ``ignored`` counts what its reader knows and does not need; ``problem`` says why
    nothing of it could be used, ``shape`` what its lines look like where no format is known.
    """

    name: str
    label: str
    size: int
    bytes_read: int
    how: str
    format: str | None
    told_by: str
    sure: str
    node: str
    nodes: list[str]
    sides: list[str]
    first_at: str | None
    last_at: str | None
    times_from: str
    records: int | None
    exact: bool
    requests: int
    unreadable_share: float
    filled: dict[str, float]
    capacity: bool
    ignored: dict[str, int]
    hazards: list[str]
    problem: str | None = None
    shape: str | None = None


class NodeDay(Struct, frozen=True):
    """One node on one day: which shares of its request records have which values.

    ``counts`` is the side's own count of the prompt, ``ids`` the id of the hand-off,
    ``outcome`` tokens generated or a status. ``limit`` is that of a prefill node. ``lines``
    are what else its logs hold. ``seen`` is false where the day lies within a file of which
    that part was not read.
    """

    node: str
    day: Day
    sides: list[str]
    limit: str
    lines: list[str]
    records: int = 0
    seen: bool = True
    counts: float = 0.0
    ids: float = 0.0
    outcome: float = 0.0
    tenants: float = 0.0
    pages: float = 0.0


class Gap(Struct, frozen=True):
    """Something a verdict needs that is not here."""

    code: str
    sentence: str
    nodes: list[str] = []
    first_day: Day | None = None
    last_day: Day | None = None


class Source(Struct, frozen=True):
    """One place to get it from, how it is had there, and how long it is kept unless set otherwise.

    ``short_lived`` sources come first; ``kept_days`` is known for some alone.
    """

    name: str
    how: str
    kept: str
    short_lived: bool
    kept_days: int | None = None


class Advice(Struct, frozen=True):
    """What to fetch or set next, and what it would do for the requests that are undecided.

    ``settles`` are those that would be ruled out or probable whatever it says; ``judges``
    those that would at least leave ``not_assessable``; both out of ``of``. ``confirms`` are those
    ruled out by their length alone of which it would show what was computed, ``names`` those
    whose tenant it would tell. All are estimates unless ``exact``.
    """

    need: str
    action: str
    sentence: str
    settles: int
    judges: int
    confirms: int
    names: int
    of: int
    exact: bool
    nodes: list[str]
    sources: list[Source]
    oldest_day: Day | None = None
    age_days: int | None = None


class Sampled(Struct, frozen=True):
    """What the verdicts would be on what was read.

    ``undecided`` are ``possible`` and ``not_assessable``; ``apart`` those of them whose other
    side is in the files but not in the sample: nothing is missing for them. ``estimated``
    is what the undecided come to in the whole files.
    """

    requests: int
    tiers: dict[str, int]
    undecided: int
    apart: int
    estimated: int
    nameless: int
    exact: bool
    common_times: list[list[str]]


class FormatFound(Struct, frozen=True):
    """A format among the files, what it can prove and what it never shows."""

    name: str
    title: str
    shows: str
    never_shows: str


class Check(Struct, frozen=True):
    """Everything that a check found."""

    tool: str
    version: str
    schema_version: int
    budget: int
    bytes_read: int
    bytes_in_all: int
    whole: bool
    complete: bool
    recognised: bool
    files: list[FileFound]
    formats: list[FormatFound]
    days: list[NodeDay]
    gaps: list[Gap]
    advice: list[Advice]
    sample: Sampled
    notes: list[str]
