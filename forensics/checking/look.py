"""One look at one file: its sample, read by the reader of its format, and what its bytes show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from forensics.checking import hazards, stamps
from forensics.checking.glance import Place, mostly_naive, places
from forensics.checking.memory import in_place_of
from forensics.checking.sample import How, Range, Sample, take
from forensics.incident import Incident
from forensics.schema import CAPACITY_COLUMNS, MARKER_COLUMNS, OBSERVATION_COLUMNS
from forensics.sources.archives.listing import Contents
from forensics.sources.blocks import Opened
from forensics.sources.detect import detect
from forensics.sources.files import Input
from forensics.sources.reading import (
    FileFacts,
    Progress,
    Reading,
    Shard,
    read_shard,
    tell_archive,
)

CANNOT_BE_READ = "cannot be read"


@dataclass(frozen=True)
class Plan:
    """What to read of one file: so many bytes, and these places beside the evenly spaced ones."""

    source: Input
    share: int
    incident: Incident
    folder: Path
    format: str | None = None
    ranges: tuple[Range, ...] = ()

    @property
    def name(self) -> str:
        """Name of the file."""
        return self.source.name

    @property
    def size(self) -> int:
        """Bytes that are to be read."""
        return self.share


@dataclass(frozen=True)
class Look:
    """What one sample showed.

    ``places`` are pairs of byte offset and time as written, for finding a time in the file;
    ``first`` and ``last`` the earliest and latest of all stamps of the sample, as written;
    ``naive`` says that they show no zone. ``damage`` is why its bytes end too early.
    """

    source: Input
    how: How
    size: int
    read: int
    factor: float
    facts: FileFacts
    reading: Reading
    hazards: tuple[str, ...] = ()
    places: tuple[Place, ...] = ()
    first: int | None = None
    last: int | None = None
    naive: bool = False
    damage: str | None = None

    @property
    def whole(self) -> bool:
        """Say whether all of the file was read."""
        return self.how == "whole"


def look(plan: Plan, progress: Progress = lambda _bytes, _records: None) -> Look:
    """Return what a sample of one file shows; a file that cannot be read shows why."""

    def told(count: int) -> None:
        progress(count, 0)

    if plan.source.stored is not None:
        return _held(plan, told)
    if plan.source.archive is not None:
        return _archive(plan.source, plan.source.archive)
    if plan.source.member is not None and plan.source.member.refused is not None:
        return _refused(plan)
    try:
        sample = take(plan.source, plan.share, told, plan.ranges, _names(plan.incident))
    except OSError as error:
        return _failed(plan, f"{CANNOT_BE_READ}: {error.strerror}")
    if sample.how == "nothing":
        return _failed(plan, "not opened: the budget is used up", sample)
    if sample.how == "document":
        return _told_only(plan, sample)
    data = sample.data
    reading = read_shard(
        Shard((in_place_of(plan.source, data),), plan.incident, plan.folder, plan.format)
    )
    facts = reading.files[0]
    found = [stamps.stamps(piece.data) for piece in sample.pieces]
    # Of a file whose reader tells times, numbers that may be times are not needed.
    known = bool(reading.parts)
    times = [at for piece in found if piece.wall or not known for at in piece.times]
    return Look(
        plan.source,
        sample.how,
        sample.size,
        sample.read,
        sample.factor,
        facts,
        reading,
        tuple(hazards.hazards(data)),
        places(sample.pieces, found),
        min(times, default=None),
        max(times, default=None),
        mostly_naive(found),
        sample.damage,
    )


def _names(incident: Incident) -> list[str]:
    columns = (*OBSERVATION_COLUMNS, *CAPACITY_COLUMNS, *MARKER_COLUMNS)
    return [*(column.name for column in columns), *incident.columns, *incident.logs.tenant_from]


def _held(plan: Plan, told: Callable[[int], object]) -> Look:
    """Return what an evidence set holds of a log: its rows, which have no slices."""
    size = plan.source.size
    if size > plan.share:
        return _failed(plan, "evidence set larger than its share of the budget")
    reading = read_shard(Shard((plan.source,), plan.incident, plan.folder))
    told(size)
    return Look(plan.source, "whole", size, size, 1.0, reading.files[0], reading)


def _archive(source: Input, archive: Contents) -> Look:
    """Return what an archive itself is; its members are looked at one by one."""
    facts = FileFacts(source.number, source.name, source.size)
    tell_archive(archive, facts)
    return Look(source, "whole", source.size, 0, 0.0, facts, Reading([facts]))


def _refused(plan: Plan) -> Look:
    reading = read_shard(Shard((plan.source,), plan.incident, plan.folder))
    return Look(plan.source, "whole", 0, 0, 0.0, reading.files[0], reading)


def _failed(plan: Plan, reason: str, sample: Sample | None = None) -> Look:
    facts = FileFacts(plan.source.number, plan.source.name, plan.source.size)
    facts.notes[reason] += 1
    read = 0 if sample is None else sample.read
    return Look(plan.source, "nothing", plan.source.size, read, 0.0, facts, Reading([facts]))


def _told_only(plan: Plan, sample: Sample) -> Look:
    """Return what the beginning of one long document tells of its format."""
    facts = FileFacts(plan.source.number, plan.source.name, plan.source.size)
    with Opened(in_place_of(plan.source, sample.data)) as opened:
        found = detect(opened, plan.incident)
    if found.format is None:
        facts.notes[found.reason] += 1
        facts.shape = found.shape
    else:
        facts.format, facts.detected_by = found.format.name, found.reason
        facts.notes["one document without lines: cannot be sampled"] += 1
    seen = tuple(hazards.hazards(sample.data))
    reading = Reading([facts])
    return Look(plan.source, "document", sample.size, sample.read, 0.0, facts, reading, seen)
