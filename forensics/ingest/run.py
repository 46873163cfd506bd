"""An ingest from its first input to the sealed set.

What a set holds does not depend on the order in which its logs came, but for one thing: of logs
of one name from several machines, those that are there keep the names of their nodes, which their
rows bear, and those that come later are named by their folders. Of logs that come at once, and of
sets that are read together, no order decides.
"""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from forensics import runners
from forensics.errors import NoInputError, OutputExistsError, PrivacyError, UsageError
from forensics.incident import Incident, load
from forensics.ingest import disk, finish
from forensics.ingest.away import mirrored
from forensics.ingest.one import Job, add, nothing
from forensics.ingest.plan import Plan, committed, plan, settled
from forensics.ingest.sound import require_ledgers, require_rows
from forensics.ingest.zones import assumed
from forensics.manifest import arguments, incident_file
from forensics.objects import ObjectPath, place
from forensics.output import refuse_inputs, whole_folder, write_private
from forensics.sources.evidence_set import KIND, MANIFEST, is_set, manifest_of
from forensics.sources.files import Input, as_shown, expand, settings_of, with_nodes
from forensics.sources.ledger import Ledger
from forensics.sources.reading import Progress, nothing_readable
from forensics.sources.settings import Settings, adopted


@dataclass(frozen=True)
class Ingested:
    """What an ingest did, and what the set holds now."""

    folder: Path
    added: int
    known: int
    replaced: int
    inputs: int
    read: int
    kept: int
    ignored: dict[str, int]
    unreadable: dict[str, int]
    bad_values: dict[str, int]
    assumed_nodes: list[str]

    @property
    def complete(self) -> bool:
        """Every file and record of the set could be read, and no clock's zone was assumed."""
        return not (self.unreadable or self.bad_values or self.assumed_nodes)


@dataclass(frozen=True)
class _Task:
    """What a run was asked for."""

    inputs: list[Input]
    incident: Incident
    settings: Settings
    workers: int | None
    progress: Progress
    facts: dict[str, Any]


def ingest(
    *paths: str | os.PathLike[str],
    out: str | os.PathLike[str],
    incident: Incident | str | Path | None = None,
    format: str | None = None,  # noqa: A002 -- the name of the option everywhere else
    workers: int | None = None,
    force: bool = False,
    progress: Progress = nothing,
) -> Ingested:
    """Read logs into an evidence set, or go on with one.

    Args:
        paths: files, folders, globs, other evidence sets, or ``-`` for standard input.
        out: the set, on disk or under ``s3://``; it may be there, finished or not.
        incident: states how the logs are to be read.
        format: name of a format; None detects it for each file.
        workers: processes; None decides by the size of the input.
        force: start over, in place of the set that is there.
        progress: called with the numbers of bytes and of records just read.

    Raises:
        NoInputError: nothing was given, found or recognised.
        OutputExistsError: ``out`` is a folder of another kind.
        UsageError: the set was read by other settings, or another run writes to it.
        VerificationError: what the set holds already is not what was written.
        PrivacyError: rows hold what their table may not hold.
    """
    target = place(out)
    task = _task(paths, target, incident, format, workers, progress)
    if force:
        refuse_inputs(target, [*paths, *([incident] if isinstance(incident, str | Path) else [])])
    if isinstance(target, ObjectPath):
        with mirrored(target, force=force) as folder:
            return replace(_into(folder, task), folder=target)
    if force and os.path.lexists(target):
        with whole_folder(target, KIND, force=True) as folder:
            _begin(folder, task)
            made = _fill(folder, task)
        return replace(made, folder=target)
    return _into(target, task)


def _into(target: Path, task: _Task) -> Ingested:
    """Fill a set that is there, or a new one."""
    fresh = not os.path.lexists(target)
    if fresh:
        with whole_folder(target, KIND) as folder:
            _begin(folder, task)
    _require(target, task.settings)
    try:
        return _fill(target, task)
    except (NoInputError, PrivacyError):
        if fresh:
            shutil.rmtree(target)
        raise


def _task(
    paths: Sequence[str | os.PathLike[str]],
    target: Path,
    incident: Incident | str | Path | None,
    format_name: str | None,
    workers: int | None,
    progress: Progress,
) -> _Task:
    own = Path(incident) if isinstance(incident, str | Path) else None
    inputs = expand(*paths, leave_out=own, but=target)
    sets = settings_of(inputs)
    asked = adopted(load(incident), sets)
    settings = Settings.of(asked, format_name)
    for other in sets:
        _refuse_other(settings, other)
    facts = {
        "started_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "arguments": {"command": "ingest", "out": as_shown(str(target))}
        | arguments(paths, incident, format_name, workers),
        "incident_file": incident_file(incident),
    }
    return _Task(inputs, asked, settings, workers, progress, facts)


def _begin(folder: Path, task: _Task) -> None:
    """Write the manifest of a set that holds nothing yet: from now on it can be gone on with."""
    data = finish.manifest(task.settings, {}, {}, task.facts | {"finished": False})
    write_private(folder / MANIFEST, data)


def _require(folder: Path, settings: Settings) -> None:
    if not is_set(folder):
        raise OutputExistsError(f"{folder} exists and is no evidence set; it is not replaced")
    _refuse_other(manifest_of(folder).settings, settings)


def _refuse_other(settings: Settings, other: Settings) -> None:
    names = settings.differ(other)
    if names:
        raise UsageError(f"the evidence set was read by other settings: {', '.join(names)}")


def _fill(folder: Path, task: _Task) -> Ingested:
    begun = time.perf_counter()
    with disk.alone(folder) as work:
        before = committed(folder)
        require_ledgers(folder, before)
        held = {name: ledger.node for ledger in before.values() for name in ledger.names}
        todo = plan(with_nodes(task.inputs, held), before, task.incident)
        require_rows(folder, before, todo.known)
        keys = _read(folder, work, todo, task)
        require_rows(folder, before, before.keys() & set(keys) - todo.known.keys())
        ledgers, renamed = settled(committed(folder), todo, keys, task.inputs)
        _refuse_nothing(ledgers)
        for ledger in renamed:
            finish.write_ledger(folder, ledger, work)
        outputs = finish.outputs_of(folder, ledgers)
        facts = task.facts | {"finished": True, "seconds": round(time.perf_counter() - begun, 3)}
        finish.seal(folder, finish.manifest(task.settings, ledgers, outputs, facts), outputs, work)
    gone = len(before.keys() - ledgers.keys())
    counts = (len(set(keys) - before.keys()), len(todo.known), gone)
    return _told(folder, ledgers, *counts, assumed(ledgers.values(), task.settings.timezone))


def _read(folder: Path, work: Path, todo: Plan, task: _Task) -> list[str]:
    """Read what is new, each input into the set as soon as it is read; return the keys."""
    jobs = [
        Job(source, names, task.incident, task.settings.format, folder, work)
        for source, names in todo.pending
    ]
    size = sum(job.source.size for job in jobs)
    task.progress(sum(source.size for source in task.inputs) - size, 0)
    movable = all(job.source.path is not None for job in jobs)
    runner = runners.choose(task.workers, size, len(jobs), movable=movable)
    return runners.run(runner, add, jobs, task.progress)


def _refuse_nothing(ledgers: dict[str, Ledger]) -> None:
    """Raise where the set would hold no record: evidence of nothing looks like a clean log."""
    if any(item.facts(0, item.names[0]).recognised for item in ledgers.values()):
        return
    facts = [item.facts(0, item.names[0]) for item in ledgers.values()]
    raise NoInputError(nothing_readable(sorted(facts, key=lambda item: item.name)))


def _told(
    folder: Path,
    ledgers: dict[str, Ledger],
    added: int,
    known: int,
    replaced: int,
    assumed_nodes: list[str],
) -> Ingested:
    own = list(ledgers.values())
    ignored = sum((Counter(item.ignored) for item in own), Counter[str]())
    unreadable = Counter(reason for item in own for _, _, reason in item.unread)
    bad = sum((Counter(item.bad_values) for item in own), Counter[str]())
    return Ingested(
        folder=folder,
        added=added,
        known=known,
        replaced=replaced,
        inputs=len(own),
        read=sum(item.read for item in own),
        kept=sum(item.kept for item in own),
        ignored=dict(sorted(ignored.items())),
        unreadable=dict(sorted(unreadable.items())),
        bad_values=dict(sorted(bad.items())),
        assumed_nodes=assumed_nodes,
    )
