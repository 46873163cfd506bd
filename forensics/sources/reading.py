"""The reading pass: one shard of files to content-free rows and a small state.

A pure function of its files: it can run here, in another process or on another
machine. Rows go to Parquet parts in a private folder; the state that comes back
holds counts, hashes and the ledger of unread records.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from forensics.errors import ForensicsError
from forensics.guard import shaped
from forensics.incident import Incident
from forensics.sources import registry
from forensics.sources.blocks import DamagedStreamError, Opened
from forensics.sources.context import Context
from forensics.sources.files import Input
from forensics.sources.layout import PART
from forensics.sources.parsed import Parsed, Reasons, Unread

PART_ROWS = 131_072
Progress = Callable[[int, int], None]
"""Called with the number of bytes, and of records, that were just read."""


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


@dataclass
class Reading:
    """State of some shards: mergeable, and the same whatever the split."""

    files: list[FileFacts] = field(default_factory=list)
    parts: list[Path] = field(default_factory=list)
    capacity: list[pl.DataFrame] = field(default_factory=list)
    markers: list[pl.DataFrame] = field(default_factory=list)
    traces: list[pl.DataFrame] = field(default_factory=list)
    activity: list[pl.DataFrame] = field(default_factory=list)
    clock: Counter[tuple[str, int]] = field(default_factory=Counter)

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
        )


@dataclass(frozen=True)
class Shard:
    """Some files, the incident, where parts may be written, and a stated format."""

    inputs: tuple[Input, ...]
    incident: Incident
    folder: Path
    format: str | None = None


def read_shard(shard: Shard, progress: Progress = lambda _bytes, _records: None) -> Reading:
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
    context = Context(shard.incident, source.number, source.name, source.label)
    facts = FileFacts(source.number, source.name, source.size, node=context.node)
    reading.files.append(facts)
    try:
        with Opened(source, lambda count: progress(count, 0)) as opened:
            _read_opened(opened, context, shard, facts, reading, progress)
            opened.drain()
            facts.sha256, facts.size = opened.sha256, opened.bytes_read
    except OSError as error:
        facts.read += 1
        facts.unread.append(Unread(None, None, f"cannot be read: {error.strerror}"))


def _read_opened(
    opened: Opened,
    context: Context,
    shard: Shard,
    facts: FileFacts,
    reading: Reading,
    progress: Progress,
) -> None:
    rows = Parts(shard.folder, context.number)
    try:
        found = registry.detect(opened, shard.incident, shard.format)
        if isinstance(found, str):
            facts.read += 1
            facts.unread.append(Unread(None, None, found))
            return
        facts.format, facts.detected_by = found[0].name, found[1]
        for parsed in found[0].read(opened, context):
            _take(parsed, facts, rows, reading)
            progress(0, parsed.read)
    except DamagedStreamError as error:
        facts.read += 1
        facts.unread.append(Unread(None, error.offset, error.reason))
    finally:
        reading.parts += rows.close()


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
        rows = shaped(pl.concat(self._held, how="diagonal_relaxed"), PART)
        try:
            # Read once, soon and on this machine: packing costs more than it saves.
            rows.write_parquet(path, compression="uncompressed", statistics=False)
        except OSError as error:
            # Not a fault of the input: rows that were counted as kept would be lost.
            raise ForensicsError(
                f"{self._folder.parent}: cannot be written ({error.strerror or 'no space left?'})"
            ) from None
        self._held, self._rows = [], 0
        self._written.append(path)
