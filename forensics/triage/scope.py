"""The affected requests of evidence sets, in memory that grows with what matters alone."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import polars as pl

from forensics import capacity, runners, tables
from forensics.analysis import Analysis, analyse
from forensics.assemble.headline import counts_of, received, reservation, sentence
from forensics.clock import Clocks
from forensics.incident import Incident, load, with_verdicts
from forensics.incomplete import incomplete
from forensics.recipients import recipients
from forensics.schema import AFFECTED_TIERS
from forensics.scratch import scratch_folder
from forensics.sources.files import Input, expand, settings_of
from forensics.sources.ledger import Ledger, Rows
from forensics.sources.overlap import LeftOut, distinct
from forensics.sources.reading import Progress, Reading, nothing
from forensics.sources.reread import ledger_of, small
from forensics.sources.settings import adopted
from forensics.triage.again import Again, concerned, look_again
from forensics.triage.counts import less, merged
from forensics.triage.floors import Floors
from forensics.triage.gate import refusal
from forensics.triage.keys import Hashes, Stored, ranges, repeated
from forensics.triage.rest import Rest
from forensics.triage.shards import IDS, Found, Shard
from forensics.triage.stated import grouped, look
from forensics.triage.times import Basis

SHARD_BYTES = 16 << 20
"""Of Parquet that is looked at together."""
MANY = 500_000
"""Records from which on counting rows where they lie is worth it."""


@dataclass(frozen=True)
class Scope:
    """The affected requests, what is said of them, and what is missing of the evidence.

    ``affected`` has the columns of the table of affected requests; ``tiers`` counts them; ``kept``
    says how many rows mattered, of ``requests``; ``unused`` names states of partitions that do
    not hold, with the reason.
    """

    affected: pl.DataFrame
    sentence: str
    incomplete: list[str]
    tiers: dict[str, int]
    left_out: list[LeftOut]
    requests: int
    kept: int
    unused: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Asked:
    """Inputs of one run, what their ledgers say, and what is asked."""

    inputs: list[Input]
    ledgers: list[Ledger]
    incident: Incident
    left_out: list[LeftOut]

    @property
    def rows(self) -> int:
        """Records that the sets hold."""
        return sum(ledger.kept for ledger in self.ledgers)


def asked(
    *paths: str | os.PathLike[str],
    incident: Incident | str | Path | None = None,
    verdicts: str | Path | None = None,
) -> Asked | str:
    """Return the inputs of a run, or why they have to be read as a whole.

    Args:
        paths: evidence sets; see :func:`forensics.read_logs`.
        incident: likewise.
        verdicts: likewise.
    """
    stated = with_verdicts(load(incident), Path(verdicts) if verdicts is not None else None)
    inputs = expand(*paths)
    if any(source.stored is None for source in inputs):
        return "not all logs are in an evidence set"
    stated = adopted(stated, settings_of(inputs))
    inputs, left_out = distinct(inputs, stated)
    ledgers = [ledger_of(source.stored) for source in inputs if source.stored is not None]
    why = refusal(inputs, ledgers, stated)
    return why if why is not None else Asked(inputs, ledgers, stated, left_out)


def scope(
    asked: Asked,
    workers: int | None = None,
    progress: Progress = nothing,
    *,
    times: bool = True,
) -> Scope | str:
    """Return the affected requests, or why all rows have to be read after all.

    Args:
        asked: of :func:`asked`.
        workers: processes; None decides by the size of the sets.
        progress: called with the bytes and records just looked at.
        times: hold prefill times against those of all other rows, which reads all of them.
            Without, no request is too fast, and states take the place of partitions.

    Raises:
        VerificationError: an evidence set is not what was written.
    """
    with scratch_folder() as folder:
        reading = _facts(asked)
        epochs = capacity.build(reading.capacity, _clocks(asked), asked.incident).epochs
        floors = Floors.of(epochs, asked.incident)
        shards = list(_shards(asked, folder, floors, times=times))
        size = sum(shard.read for shard in shards)
        runner = runners.choose(workers, size, len(shards), movable=True, native=True)
        seen = runners.run(runner, look, shards, progress)
        found = [item.found for item in seen]
        if any(item.odd for item in found):
            return "records name the hop that logged them, or no request"
        more, rest = _settled(runner, [item.shard for item in seen], found, floors)
        reading.parts = [part for item in (*found, *more) for part in item.kept]
        analysis = analyse(reading, asked.incident, replace(rest, timed=times))
    unused = [item.unused for item in seen if item.unused is not None]
    return replace(_told(analysis, rest, asked), unused=unused)


def _clocks(asked: Asked) -> Clocks:
    return Clocks.infer(Reading().clock, asked.incident.logs.timezone)


def _facts(asked: Asked) -> Reading:
    """Return the reading pass without any request."""
    reading = Reading()
    for source, ledger in zip(asked.inputs, asked.ledgers, strict=True):
        reading.files.append(ledger.facts(source.number, source.name))
        if source.stored is not None:
            reading.capacity += small(source.stored.folder, ledger, "capacity", source.number)
    return reading


def _shards(asked: Asked, scratch: Path, floors: Floors, *, times: bool) -> Iterator[Shard]:
    for source, ledger in zip(asked.inputs, asked.ledgers, strict=True):
        columns = ledger.columns.get("observations", ())
        if source.stored is None:
            continue
        timed = times and "prefill_ms" in columns
        basis = Basis(ledger.format, floors.epochs) if timed else None
        folder, number = source.stored.folder, source.number
        for files, state in _pieces(ledger, stated=not timed):
            yield Shard(folder, files, columns, number, scratch, floors.least, basis, state)


def _pieces(ledger: Ledger, *, stated: bool) -> Iterator[tuple[tuple[Rows, ...], Rows | None]]:
    """Yield partitions that are looked at together, by a state where there is one."""
    pieces = grouped(ledger) if stated else []
    yield from pieces
    held = [item for item in ledger.files if item.name.startswith("observations/")]
    while held and not pieces:
        taken = _together([item.bytes for item in held])
        yield tuple(held[:taken]), None
        held = held[taken:]


def _together(sizes: Sequence[int]) -> int:
    """Return how many of some files make a shard, one at the least."""
    taken, total = 1, sizes[0]
    while taken < len(sizes) and total + sizes[taken] <= SHARD_BYTES:
        total += sizes[taken]
        taken += 1
    return taken


def _settled(
    runner: runners.Runner, shards: list[Shard], found: list[Found], floors: Floors
) -> tuple[list[Found], Rest]:
    """Keep counted rows that matter after all; return what was kept, and what is left."""
    twice = _repeated(runner, [[item.ids[at] for item in found] for at in range(len(IDS))])
    keys = floors.unsettled(merged([item.counts for item in found]))
    asked = [at for at, item in enumerate(found) if concerned(item, keys, twice)]
    more = runners.run(runner, look_again, [Again(shards[at], keys, twice) for at in asked])
    left = [item.left for item in found]
    for at, item in zip(asked, more, strict=True):
        left[at] = item.left
    counts = less(*(merged([item.counts for item in some]) for some in (found, more)))
    held = [(shard, own) for shard, own in zip(shards, left, strict=True) if own is not None]
    return more, Rest(counts, held)


def _repeated(runner: runners.Runner, ids: list[list[Stored]]) -> tuple[Hashes, ...]:
    """Return the hashes that stand more than once, of each kind of identifier."""
    asked = [ranges(own) for own in ids]
    found = iter(runners.run(runner, repeated, [part for parts in asked for part in parts]))
    return tuple(np.concatenate([next(found) for _ in parts]) for parts in asked)


def _told(analysis: Analysis, rest: Rest, asked: Asked) -> Scope:
    rows = analysis.requests
    mechanism = asked.incident.trigger.mechanism
    tiers = counts_of(received(rows, mechanism))
    total = rows.height + rest.requests
    told = [t for t in recipients(rows, mechanism) if t.tier in AFFECTED_TIERS]
    lacking = incomplete(analysis)
    return Scope(
        affected=tables.request_table(tables.affected(rows)),
        sentence=sentence(tiers, told, total) + reservation(lacking),
        incomplete=lacking,
        tiers=tiers,
        left_out=asked.left_out,
        requests=total,
        kept=rows.height,
    )
