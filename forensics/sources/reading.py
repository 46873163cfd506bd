"""The reading pass: one shard of files to content-free rows and a small state.

A pure function of its files: it can run here, in another process or on another
machine. Rows go to Parquet parts in a private folder; the state that comes back
holds counts, hashes and the ledger of unread records.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from forensics.incident import Incident
from forensics.shown import shown
from forensics.sources import detect, registry
from forensics.sources.apart import Apart
from forensics.sources.archives.listing import Contents
from forensics.sources.blocks import Opened, ToDamage
from forensics.sources.context import Context
from forensics.sources.files import Input
from forensics.sources.foreign import Foreign
from forensics.sources.layout import PART
from forensics.sources.packing import DamagedStreamError
from forensics.sources.parsed import Parsed, Reasons, Unread
from forensics.sources.printed import Printed
from forensics.spill import spill

PART_ROWS = 65_536
ARCHIVE = "archive"
"""What stands for the format of an archive itself, of which only the hash is read."""
Progress = Callable[[int, int], None]
"""Called with the number of bytes, and of records, that were just read."""


def nothing(_bytes: int, _records: int) -> None:
    """Show no progress."""


@dataclass
class FileFacts:
    """What is known of one input after its reading pass."""

    number: int
    name: str
    size: int
    sha256: str = ""
    format: str | None = None
    detected_by: str = ""
    node: str = ""
    read: int = 0
    kept: int = 0
    ignored: Reasons = field(default_factory=Counter)
    unread: list[Unread] = field(default_factory=list)
    bad_values: Reasons = field(default_factory=Counter)
    notes: Reasons = field(default_factory=Counter)
    shape: str = ""
    """What the first lines look like, of a file in no known format."""

    @property
    def recognised(self) -> bool:
        """Say whether it was told what it is, and held a record, readable or not."""
        known = self.format not in (None, ARCHIVE)
        return known and bool(self.kept or self.unread)


_SHOWN = 5
_HELP = "known formats: forensics formats; docs/formats.md shows how to describe another"


def nothing_readable(files: Sequence[FileFacts]) -> str:
    """Say why nothing was read of any file, and what the lines of unknown ones look like."""
    found = "; ".join(map(_refusal, files[:_SHOWN]))
    more = f"; and {len(files) - _SHOWN} more" if len(files) > _SHOWN else ""
    helped = f" ({_HELP})" if any(facts.shape for facts in files) else ""
    return f"nothing readable: {found}{more}{helped}"


def _refusal(facts: FileFacts) -> str:
    reason = facts.unread[0].reason if facts.unread else "no record in it"
    look = f", its lines look like: {facts.shape}" if facts.shape else ""
    return f"{shown(facts.name)}: {reason}{look}"


@dataclass
class Reading:
    """State of some shards: mergeable, and the same whatever the split.

    ``sampled`` says that only parts of files were read: that a log is silent says nothing then.
    """

    files: list[FileFacts] = field(default_factory=list)
    parts: list[Path] = field(default_factory=list)
    capacity: list[pl.DataFrame] = field(default_factory=list)
    markers: list[pl.DataFrame] = field(default_factory=list)
    traces: list[pl.DataFrame] = field(default_factory=list)
    activity: list[pl.DataFrame] = field(default_factory=list)
    clock: Counter[tuple[str, int]] = field(default_factory=Counter)
    sampled: bool = False

    def merge(self, other: Reading) -> Reading:
        """Return both states as one."""
        return Reading(
            sorted(self.files + other.files, key=lambda facts: facts.number),
            self.parts + other.parts,
            self.capacity + other.capacity,
            self.markers + other.markers,
            self.traces + other.traces,
            self.activity + other.activity,
            self.clock + other.clock,
            self.sampled or other.sampled,
        )


@dataclass(frozen=True)
class Shard:
    """Some files, the incident, where parts may be written, and a stated format."""

    inputs: tuple[Input, ...]
    incident: Incident
    folder: Path
    format: str | None = None

    @property
    def name(self) -> str:
        """Name of the first file: a run gives each a shard of its own."""
        return self.inputs[0].name

    @property
    def size(self) -> int:
        """Bytes of its files."""
        return sum(source.size for source in self.inputs)


def read_shard(shard: Shard, progress: Progress = nothing) -> Reading:
    """Read the files of a shard, each once; tell the bytes and records that were just read."""
    reading = Reading()
    for source in shard.inputs:
        if source.stored is None:
            _read_file(source, shard, reading, progress)
        else:
            _read_stored(source, shard, reading, progress)
    return reading


def _read_stored(source: Input, shard: Shard, reading: Reading, progress: Progress) -> None:
    from forensics.sources.reread import read  # it is made of what is here

    read(source, shard, reading, progress)


def _read_file(source: Input, shard: Shard, reading: Reading, progress: Progress) -> None:
    context = Context(shard.incident, source.number, source.name, source.label, among=source.node)
    facts = FileFacts(source.number, source.name, source.size, node=context.node)
    reading.files.append(facts)
    if source.member is not None and source.member.refused is not None:
        # Its bytes are none of its own, or none that can be had: the archive's hash covers them.
        facts.read += 1
        facts.unread.append(Unread(None, None, source.member.refused))
        return
    rows = Parts(shard.folder, source.number)
    try:
        with Opened(source, lambda count: progress(count, 0)) as opened:
            if source.archive is not None:
                others = tell_archive(source.archive, facts)
            else:
                others = _read_opened(opened, context, shard, _Sink(facts, rows, reading, progress))
            _drain(opened, facts)
            facts.sha256, facts.size = opened.sha256, opened.bytes_read
        _read_others(source, others, context, shard, _Sink(facts, rows, reading, progress))
        _settle(facts)
    except OSError as error:
        facts.read += 1
        facts.unread.append(Unread(None, None, f"cannot be read: {error.strerror}"))
    finally:
        reading.parts += rows.close()


def tell_archive(archive: Contents, facts: FileFacts) -> dict[str, int]:
    """Tell an archive itself: its members are inputs of their own."""
    facts.format, facts.detected_by = ARCHIVE, archive.title
    facts.ignored += Counter(dict(archive.ignored))
    facts.unread += [Unread(None, None, fault) for fault in archive.faults]
    facts.read += sum(facts.ignored.values()) + len(facts.unread)
    return {}


def _drain(opened: Opened, facts: FileFacts) -> None:
    """Read what no reader wanted, for the hash; a member may break off there."""
    try:
        opened.drain()
    except DamagedStreamError as error:
        facts.read += 1
        facts.unread.append(Unread(None, error.offset, error.reason))


def _read_others(
    source: Input, others: dict[str, int], context: Context, shard: Shard, sink: _Sink
) -> None:
    """Read the lines of the other pods or hosts that a file holds, each as its own log."""
    for place, (stream, lines) in enumerate(others.items()):
        if source.path is None or place >= MOST_STREAMS:
            reason = _READ_ONCE if source.path is None else _TOO_MANY
            sink.facts.read += lines
            sink.facts.unread += [Unread(None, None, reason)] * lines
            continue
        with Opened(source) as opened:
            _read_opened(opened, context, shard, replace(sink, first=False), stream)


MOST_STREAMS = 200
"""Pods or hosts in one file; it is read anew for each."""
_READ_ONCE = "line of a further pod: standard input is read once, name a file instead"
_TOO_MANY = f"line of a further pod: one file may hold {MOST_STREAMS + 1}"


@dataclass(frozen=True)
class _Sink:
    """Where what a file holds goes; ``first`` while it is read for the first time."""

    facts: FileFacts
    rows: Parts
    reading: Reading
    progress: Progress
    first: bool = True


def _read_opened(
    opened: Opened, context: Context, shard: Shard, sink: _Sink, stream: str | None = None
) -> dict[str, int]:
    """Read the lines of one pod or host; return how many lines each other one has."""
    facts, found = sink.facts, None
    try:
        found = detect.detect(opened, shard.incident, shard.format, stream)
        if found.format is not None:
            _read_format(found.format, found, context, sink)
        elif found.stack.stream is not None:
            _pass_over(found, facts)
    except DamagedStreamError as error:
        if sink.first:
            facts.read += 1
            facts.unread.append(Unread(None, error.offset, error.reason))
    if found is None or not sink.first:
        return {}
    for aside in found.stack.aside():
        _take(aside, facts, sink.rows, sink.reading)
    if found.format is None and found.stack.stream is None and not facts.unread:
        facts.read += 1
        facts.unread.append(Unread(None, None, found.reason))
        facts.shape = found.shape
    return found.stack.others()


def _read_format(
    format_: registry.Format, found: detect.Detected, context: Context, sink: _Sink
) -> None:
    _tell(sink.facts, format_.name, found.reason)
    context = replace(context, stream=found.stack.stream or "")
    source = ToDamage(found.stack.source)
    # A format that was stated is not to be doubted of single lines either.
    printed = Printed(source, lambda some: format_.read(some, context))
    apart = Apart(printed, None if found.stated else format_, context.incident)
    if not found.stated:
        context = replace(context, foreign=Foreign(format_.name, context))
    for parsed in format_.read(apart, context):
        for name, others in apart.others(context):
            if name is not None:
                _tell(sink.facts, name, found.reason)
            _take(others, sink.facts, sink.rows, sink.reading)
            sink.progress(0, others.read)
        _take(parsed, sink.facts, sink.rows, sink.reading)
        sink.progress(0, parsed.read)
    for rest in (printed.held_back(), *apart.rest()):
        _take(rest, sink.facts, sink.rows, sink.reading)
    if source.damage is not None:
        raise source.damage


def _pass_over(found: detect.Detected, facts: FileFacts) -> None:
    """Count the lines of a pod that are in no known format: a sidecar's, mostly."""
    lines = sum(len(block.ends) for block in found.stack.source.blocks())
    facts.read += lines
    facts.ignored[_SIDECAR] += lines
    facts.shape = facts.shape or found.shape


_SIDECAR = "line of a pod in no known format"


def _settle(facts: FileFacts) -> None:
    """Where no pod's lines are in a known format, none is a sidecar's: the file is not read."""
    if facts.format is not None:
        facts.shape = ""
    elif lines := facts.ignored.pop(_SIDECAR, 0):
        facts.read += 1 - lines
        facts.unread.append(Unread(None, None, "no known format"))


def _tell(facts: FileFacts, name: str, reason: str) -> None:
    """Name the format, and each further one that lines of another pod are in."""
    names = facts.format.split(" + ") if facts.format else []
    if name not in names:
        facts.format = " + ".join(sorted([*names, name]))
    facts.detected_by = facts.detected_by or reason


def _take(parsed: Parsed, facts: FileFacts, rows: Parts, reading: Reading) -> None:
    facts.read += parsed.read
    facts.kept += parsed.kept
    facts.ignored += parsed.ignored
    facts.unread += parsed.unread
    facts.bad_values += parsed.bad_values
    facts.notes += parsed.notes
    rows.add(parsed.observations)
    reading.capacity += parsed.capacity
    reading.markers += parsed.markers
    reading.traces += parsed.traces
    reading.activity += parsed.activity
    reading.clock += parsed.clock


def write_part(path: Path, rows: pl.DataFrame) -> None:
    """Write rows of requests as a part, or in place of one, in one step.

    Raises:
        PrivacyError: a column is none that a part has.
        ForensicsError: the folder cannot be written to.
    """
    spill(path, rows, PART)


class Parts:
    """Rows of one file, written to a part whenever enough have come together."""

    def __init__(self, folder: Path, number: int) -> None:
        self._folder = folder
        self._number = number
        self._held: list[pl.DataFrame] = []
        self._rows = 0
        self._written: list[Path] = []

    def add(self, frames: list[pl.DataFrame]) -> None:
        """Take rows; they are written when enough have come together."""
        self._held += frames
        self._rows += sum(frame.height for frame in frames)
        if self._rows >= PART_ROWS:
            self._write()

    def close(self) -> list[Path]:
        """Write what is left and return the parts."""
        if self._rows:
            self._write()
        return self._written

    def _write(self) -> None:
        path = self._folder / f"{self._number:06d}-{len(self._written):06d}.parquet"
        write_part(path, pl.concat(self._held, how="diagonal_relaxed"))
        self._held, self._rows = [], 0
        self._written.append(path)
