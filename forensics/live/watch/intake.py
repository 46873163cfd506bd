"""From growing logs to rows: which logs there are, and what is new in each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from forensics.checking.memory import in_place_of
from forensics.errors import NoInputError
from forensics.incident import Incident
from forensics.live.watch import lasting
from forensics.live.watch.asked import Counts
from forensics.live.watch.follow import Chunk, Event, Place
from forensics.live.watch.log import End, Log
from forensics.live.watch.piped import Piped
from forensics.live.watch.ring import Held
from forensics.live.watch.state import State
from forensics.sources.files import Input, expand, with_nodes
from forensics.sources.reading import Reading, Shard, read_shard, write_part
from forensics.sources.registry import by_name

_UNTOLD = 64 << 10
"""Bytes from which a file whose lines nobody knows is passed over, instead of waited for."""
_Happened = Callable[[Event, str], None]


class Intake:
    """Reads logs piece by piece.

    Args:
        logs: files, folders, globs or ``-``; looked for anew again and again.
        incident: what is asked.
        folder: private, for rows.
        counts: counted up.
        happened: told what happened to a log, and its name.
        before: what an earlier run left: where it had come to, and in which formats.
    """

    def __init__(
        self,
        logs: Sequence[str],
        incident: Incident,
        folder: Path,
        counts: Counts,
        happened: _Happened,
        before: State,
    ) -> None:
        self._logs, self._incident, self._folder = logs, incident, folder
        self._counts, self._happened = counts, happened
        self._before = {name: tuple(places) for name, places in before.logs.items()}
        self._seen = lasting.seen(before)
        self.formats = dict(before.formats)
        self._open: dict[str, Log] = {}
        self._inputs: dict[str, Input] = {}
        self._numbers: dict[str, int] = {}
        self._piped = Piped()
        self._heads: dict[str, bytes] = {}
        self._parts = 0

    def find(self) -> None:
        """Look which logs there are now; what was moved aside is read by its first name.

        Raises:
            NoInputError: a log that was named does not exist. Once it was there it may be gone for
                a moment, between its being moved aside and made anew.
        """
        try:
            inputs = {source.name: source for source in expand(*self._logs)}
        except NoInputError:
            if self._inputs:
                return
            raise
        plain = [s for s in inputs.values() if s.archive is None and s.member is None]
        known = {
            (place.device, place.inode) for log in self._open.values() for place in log.places()
        } | {(p.device, p.inode) for places in self._before.values() for p in places}
        for source in plain:
            if source.name in self._inputs:
                continue
            if source.path is not None and _identity(source.path) in known - self._own(source.name):
                continue
            self._inputs[source.name] = source
            self._numbers[source.name] = len(self._numbers)
            if source.path is not None:
                self._follow(source.name, source.path)
        if not self._inputs:
            raise NoInputError("no log that can be followed was named")

    def read(self, *, last: bool) -> Iterator[list[Held]]:
        """Read each log up to where it ends now: a busy one is never read to its end.

        Yields:
            A piece of each log in turn, until all are read.

        Raises:
            PrivacyError: a row holds what it may not hold.
        """
        ends = {name: log.end() for name, log in self._open.items()}
        left = with_nodes(list(self._inputs.values()))
        while left:
            held: list[Held] = []
            left = [s for s in left if self._piece(s, ends.get(s.name), held, last=last)]
            yield held

    def places(self) -> dict[str, list[Place]]:
        """Return how far each log was read."""
        return {name: list(log.places()) for name, log in self._open.items()}

    def close(self) -> None:
        """Close the files."""
        for log in self._open.values():
            log.close()

    def _own(self, name: str) -> set[tuple[int, int]]:
        return {(place.device, place.inode) for place in self._before.get(name, ())}

    def _follow(self, name: str, path: Path) -> None:
        def told(event: Event) -> None:
            self._happened(event, name)

        self._open[name] = Log(path, self._before.pop(name, ()), told, self._seen)

    def _piece(self, source: Input, end: End | None, held: list[Held], *, last: bool) -> bool:
        """Read a piece of a log; return whether there is more of it, up to its end."""
        if source.path is None:
            return self._piece_of_stdin(source, held, last=last)
        log = self._open[source.name]
        chunk = log.read(last=last)
        if chunk is None:
            return False
        if not self._take(source, chunk, held, last=last):
            log.back(chunk)
            return False
        return not log.reached(end)

    def _piece_of_stdin(self, source: Input, held: list[Held], *, last: bool) -> bool:
        chunk = self._piped.read(last=last)
        if chunk is None:
            return False
        if self._take(source, chunk, held, last=last):
            self._piped.take(chunk)
        return last and not self._piped.ended

    def _take(self, source: Input, chunk: Chunk, held: list[Held], *, last: bool) -> bool:
        """Read a chunk; return False where its format is not known yet."""
        number = self._numbers[source.name]
        folder = self._folder / f"{self._parts:08d}"
        folder.mkdir(mode=0o700)
        self._parts += 1
        name = self.formats.get(source.name)
        head = self._head(source, chunk, name)
        piece = in_place_of(replace(source, number=number), head + chunk.data)
        reading = read_shard(Shard((piece,), self._incident, folder, name))
        facts = reading.files[0]
        if facts.format is None and len(chunk.data) < _UNTOLD and not last:
            return False
        if facts.format is not None and " + " not in facts.format:
            self.formats[source.name] = facts.format
        for part in reading.parts:
            _renumber(part, chunk.begin.lines - bool(head))
        self._counts.records += facts.read
        self._counts.unreadable += len(facts.unread)
        self._counts.last_record = time.time() if facts.read else self._counts.last_record
        small = Reading(capacity=reading.capacity, markers=reading.markers, clock=reading.clock)
        parts = tuple(reading.parts)
        held.append(Held(self._when(chunk), source.name, chunk.begin, chunk.end, parts, small))
        return True

    def _head(self, source: Input, chunk: Chunk, name: str | None) -> bytes:
        """Return the header of a table, which only the first piece of its file has."""
        if name is None or not by_name(name, self._incident).may_be_a_table:
            return b""
        if not chunk.begin.offset:
            self._heads[source.name] = chunk.data.split(b"\n", 1)[0] + b"\n"
            return b""
        if source.name not in self._heads and source.path is not None:
            with source.path.open("rb") as file:
                self._heads[source.name] = file.readline(_UNTOLD)
        head = self._heads.get(source.name, b"")
        return b"" if head.lstrip(b"\xef\xbb\xbf \t").startswith((b"{", b"[")) else head

    def _when(self, chunk: Chunk) -> float:
        """Return when a piece was first read: now, or by an earlier run."""
        end, now = chunk.end, time.monotonic()
        return min(now, self._seen.get((end.device, end.inode), {}).get(end.offset, now))


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _renumber(part: Path, lines_before: int) -> None:
    """Count the lines of a chunk from the beginning of its file."""
    if lines_before:
        write_part(part, pl.read_parquet(part).with_columns(pl.col("line") + lines_before))
