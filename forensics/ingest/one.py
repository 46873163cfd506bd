"""One input into the set: read, parted, written, and its ledger last."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass
from dataclasses import replace as replace_input
from pathlib import Path
from secrets import token_hex

from msgspec.structs import replace

from forensics.errors import ForensicsError
from forensics.incident import Incident
from forensics.ingest import disk, partition
from forensics.ingest.states import States
from forensics.ingest.zones import zoneless
from forensics.sources.evidence_set import Stored, ledger_name
from forensics.sources.files import Input
from forensics.sources.layout import key_of
from forensics.sources.ledger import Ledger, Rows, encode, of_reading
from forensics.sources.reading import Progress, Reading, Shard, read_shard
from forensics.sources.reread import checked, file_bytes, ledger_of, places
from forensics.triage.gate import takes


@dataclass(frozen=True)
class Job:
    """One input that is to be read into a set, under all names that it was given by.

    ``scratch`` is the run's own folder, on the same file system as the set.
    """

    source: Input
    names: tuple[str, ...]
    incident: Incident
    format: str | None
    folder: Path
    scratch: Path

    @property
    def name(self) -> str:
        """Name of the input."""
        return self.source.name

    @property
    def size(self) -> int:
        """Bytes of the input."""
        return self.source.size


def nothing(_bytes: int, _records: int) -> None:
    """Show no progress."""


def add(job: Job, progress: Progress = nothing) -> str:
    """Read an input into its set and return its key.

    The ledger is written when everything else is on disk: a run that is killed before
    leaves files that no ledger names, and the next one writes the same bytes again.

    Raises:
        PrivacyError: a row holds what its table may not hold.
        OSError: the set cannot be written.
    """
    # Of its own: where a worker was taken for lost, its successor is at the same job.
    scratch = disk.private(job.scratch / f"{job.source.number:06d}-{token_hex(8)}")
    try:
        stored = job.source.stored
        if stored is not None and job.source.node in ("", stored.log.node):
            return _copy(job, stored, scratch)
        reading, token = _read(job, scratch, progress)
        (facts,) = reading.files
        key = key_of(facts.sha256, facts.node) if facts.sha256 else unread_key(facts.name)
        if not (job.folder / ledger_name(key)).exists() or not facts.sha256:
            _write(job, reading, key, token, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return key


def unread_key(name: str) -> str:
    """Return the key of a file that could not be read to its end: it has no hash."""
    return f"{'0' * 16}-{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:8]}"


def _read(job: Job, scratch: Path, progress: Progress) -> tuple[Reading, str]:
    """Read the input alone; rows without an identifier name it by a word that no log holds."""
    token = token_hex(16)
    source = replace_input(job.source, number=0, label=token)
    parts = disk.private(scratch / "parts")
    return read_shard(Shard((source,), job.incident, parts, job.format), progress), token


def _write(job: Job, reading: Reading, key: str, token: str, scratch: Path) -> None:
    written: list[Rows] = []
    columns, (facts,) = partition.columns_of(reading), reading.files
    states = States(job.folder, key, scratch, wanted=takes(facts.format, columns))
    redacted, nodes = False, set[str]()
    try:
        for name, rows, data in partition.files(reading, key, token):
            disk.put(job.folder, name, data, scratch)
            written.append(Rows(name, len(data), hashlib.sha256(data).hexdigest(), rows.height))
            states.add(written[-1], rows)
            redacted = redacted or places(rows, key)
            nodes |= zoneless(rows, name.split("/", 1)[0])
        names = job.names, columns, tuple(written)
        counted = states.close()
        ledger = of_reading(reading, key, *names, redacted=redacted, zoneless=nodes)
        ledger = replace(ledger, states=counted)
        disk.sync(job.folder, [item.name for item in (*written, *counted)])
        _commit(job, ledger, scratch)
    except ForensicsError:
        for item in (*written, *states.written):
            (job.folder / item.name).unlink(missing_ok=True)
        raise


def _commit(job: Job, ledger: Ledger, scratch: Path) -> None:
    name = ledger_name(ledger.key)
    disk.put(job.folder, name, encode(ledger), scratch)
    disk.sync(job.folder, [name])


def _copy(job: Job, stored: Stored, scratch: Path) -> str:
    """Take an input over from another set, byte for byte."""
    ledger = ledger_of(stored)
    if not (job.folder / ledger_name(ledger.key)).exists():
        for name, data in file_bytes(stored.folder, ledger):
            disk.put(job.folder, name, data, scratch)
        for item in ledger.states:
            data = checked(stored.folder, item.name, item.sha256)
            disk.put(job.folder, item.name, data, scratch)
        disk.sync(job.folder, [item.name for item in (*ledger.files, *ledger.states)])
        _commit(job, replace(ledger, names=job.names), scratch)
    return ledger.key
