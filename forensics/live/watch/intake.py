"""From growing logs to rows: what is new in each."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from forensics.checking.memory import in_place_of
from forensics.incident import Incident
from forensics.live.watch.asked import Counts
from forensics.live.watch.generation import Generation
from forensics.live.watch.heads import Heads
from forensics.live.watch.inputs import Inputs
from forensics.live.watch.log import Log
from forensics.live.watch.piped import Piped
from forensics.live.watch.place import Chunk, Identity, Place
from forensics.live.watch.prints import Prints, salt
from forensics.live.watch.ring import Held
from forensics.live.watch.state import Progress, State
from forensics.sources.files import Input
from forensics.sources.reading import Reading, Shard, read_shard, write_part

_UNTOLD = 64 << 10
"""Bytes from which a file whose lines nobody knows is passed over, instead of waited for."""


class Happened(Protocol):
    """Takes what happened to a generation of a log."""

    def __call__(self, log: str, event: str, number: int, **more: Any) -> None:
        """Tell it."""


class Intake:
    """Reads logs piece by piece.

    Args:
        inputs: the logs.
        incident: what is asked.
        folder: private, for rows.
        settle: seconds after which a log that was moved aside is written no more.
        counts: counted up.
        happened: told what happened to a log.
        before: what an earlier run left: where it had come to, and in which formats.
    """

    def __init__(
        self,
        inputs: Inputs,
        incident: Incident,
        folder: Path,
        settle: float,
        counts: Counts,
        happened: Happened,
        before: State,
    ) -> None:
        self._from, self._incident, self._folder, self._settle = inputs, incident, folder, settle
        self._counts, self._happened, self._before = counts, happened, before
        self.on = False
        """A later run goes on from where this ends."""
        self.formats = dict(before.formats)
        self.numbers = before.numbers
        self.prints = Prints(before.salt or salt())
        self._logs: dict[str, Log] = {}
        self._inputs: list[Input] = []
        self._piped: Piped | None = None
        self._heads = Heads(incident)
        self._parts = 0

    def find(self, *, last: bool) -> None:
        """Look which logs there are now, and where their generations lie.

        Raises:
            NoInputError: a log that was named does not exist.
        """
        self._inputs = self._from.find()
        for source in self._inputs:
            if source.path is None:
                self._pipe(source)
            elif source.name not in self._logs:
                self._follow(source.name, source.path)
        sure: dict[str, set[Identity]] = {n: log.identities() for n, log in self._logs.items()}
        logs = frozenset(log.path for log in self._logs.values())
        for name, log in self._logs.items():
            others = frozenset(i for other, held in sure.items() if other != name for i in held)
            log.look(asked=self._from.asked(name), last=last, logs=logs, others=others)
            sure[name] = log.identities()

    def read(self, *, last: bool) -> Iterator[list[Held]]:
        """Read each log up to where it ended when it was looked at: a busy one never to its end.

        Yields:
            A piece of each log in turn, until all are read.

        Raises:
            PrivacyError: a row holds what it may not hold.
        """
        left = self._inputs
        while left:
            held: list[Held] = []
            left = [source for source in left if self._piece(source, held, last=last)]
            yield held

    def progress(self) -> Progress:
        """Return how far each log was read, and what a restart needs to go on from there."""
        return Progress(
            {name: log.places() for name, log in self._logs.items()},
            dict(self.formats),
            self.numbers,
            self.prints.key,
            self._piped is not None and self._piped.open,
        )

    def close(self) -> None:
        """Close the files."""
        for log in self._logs.values():
            log.close()

    def _number(self) -> int:
        self.numbers += 1
        return self.numbers

    def _pipe(self, source: Input) -> None:
        if self._piped is None:
            self._piped = Piped(self._number())
            if self._before.piped:
                self._happened(source.name, "lost", self.numbers, what="piped", certain=False)

    def _follow(self, name: str, path: Path) -> None:
        told = partial(self._happened, name)
        places: Sequence[Place] = self._before.logs.get(name, ())
        self._logs[name] = Log(path, places, told, self.prints, self._number, self._settle)

    def _piece(self, source: Input, held: list[Held], *, last: bool) -> bool:
        """Read a piece of a log; return whether there may be more of it to be read now."""
        if source.path is None:
            return self._piped is not None and self._piece_of_stdin(
                self._piped, source, held, last=last
            )
        found = self._logs[source.name].read(last=last, on=self.on)
        if found is None:
            return False
        generation, chunk = found
        if not self._take(source, chunk, held, generation, last=last):
            generation.back(chunk)
        return True

    def _piece_of_stdin(self, piped: Piped, source: Input, held: list[Held], *, last: bool) -> bool:
        chunk = piped.read(last=last)
        if chunk is None:
            return False
        if self._take(source, chunk, held, None, last=last):
            piped.take(chunk)
        return last and not piped.ended

    def _take(
        self,
        source: Input,
        chunk: Chunk,
        held: list[Held],
        generation: Generation | None,
        *,
        last: bool,
    ) -> bool:
        """Read a chunk; return False where its format is not known yet."""
        folder = self._folder / f"{self._parts:08d}"
        folder.mkdir(mode=0o700)
        self._parts += 1
        name = self.formats.get(source.name)
        head = self._heads.of(chunk, name, generation)
        piece = in_place_of(replace(source, number=chunk.number), head + chunk.data)
        reading = read_shard(Shard((piece,), self._incident, folder, name))
        facts = reading.files[0]
        if facts.format is None and len(chunk.data) < _UNTOLD and not last:
            return False
        if facts.format is not None and " + " not in facts.format:
            self.formats[source.name] = facts.format
        for part in reading.parts:
            _renumber(part, chunk.lines - bool(head))
        self._counts.recognised |= facts.format is not None or bool(self.formats)
        self._counts.records += facts.read
        self._counts.unreadable += len(facts.unread)
        self._counts.last_record = time.time() if facts.read else self._counts.last_record
        small = Reading(capacity=reading.capacity, markers=reading.markers, clock=reading.clock)
        held.append(Held(time.monotonic(), tuple(reading.parts), small))
        return True


def _renumber(part: Path, lines_before: int) -> None:
    """Count the lines of a chunk from the beginning of its file."""
    if lines_before:
        write_part(part, pl.read_parquet(part).with_columns(pl.col("line") + lines_before))
