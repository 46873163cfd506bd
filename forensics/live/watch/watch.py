"""The watch itself: read what is new, judge what has come to rest, tell it, remember it."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from forensics.analysis import analyse
from forensics.capacity import build
from forensics.checking.memory import in_place_of
from forensics.clock import Clocks
from forensics.errors import NoInputError, UsageError
from forensics.incident import Incident
from forensics.live.watch import state as kept
from forensics.live.watch.follow import MOST, Chunk, Event, Place
from forensics.live.watch.log import End, Log
from forensics.live.watch.ring import IDS, Held, Ring
from forensics.live.watch.told import Output, lines
from forensics.objects import ObjectPath, place
from forensics.schema import AFFECTED_TIERS, TIERS
from forensics.sources.files import Input, expand, with_nodes
from forensics.sources.reading import Reading, Shard, read_shard, write_part

_LONGER = 12
"""How many times as long a record is held that gave reason to look closer."""
_REST = 2.0
"""How many times as long as the last judging took nothing is judged."""
_UNTOLD = 64 << 10
"""Bytes from which a file whose lines nobody knows is passed over, instead of waited for."""


@dataclass(frozen=True)
class Asked:
    """What a watch was asked for.

    Attributes:
        settle: seconds without a further record after which a request is judged.
        keep: seconds for which records are held, for those of other hops to come.
        pause: seconds between two looks.
        once: read what is there and end.
        stop_at: the tier from which a finding ends the watch.
    """

    settle: float = 10.0
    keep: float = 300.0
    pause: float = 1.0
    once: bool = False
    stop_at: str | None = None


@dataclass
class Counts:
    """What a watch has seen and found, since it was started."""

    records: int = 0
    unreadable: int = 0
    tiers: Counter[str] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)
    last_record: float = 0.0


class Watch:
    """Follows logs.

    Args:
        logs: files, folders, globs or ``-``; looked for anew again and again.
        incident: what is asked.
        folder: private, for rows.
        output: where findings go.
        state_file: where to remember, if anywhere.
        asked: how.
    """

    def __init__(
        self,
        logs: Sequence[str],
        incident: Incident,
        folder: Path,
        output: Output,
        state_file: Path | None,
        asked: Asked,
    ) -> None:
        if any(isinstance(place(log), ObjectPath) for log in logs):
            raise UsageError("watch follows files that grow; objects in storage do not")
        self._logs, self._incident, self._folder = logs, incident, folder
        self._output, self._state_file, self._asked = output, state_file, asked
        before = kept.load(state_file)
        output.told |= set(before.told)
        self._before = {name: tuple(places) for name, places in before.logs.items()}
        self._formats = dict(before.formats)
        self._ring = Ring(
            kept.frames(before.capacity, "capacity"),
            kept.frames(before.markers, "markers"),
            Counter({(node, ahead): count for node, ahead, count in before.clock}),
        )
        self._seen = self._clock_of(before)
        self._restore(before)
        self._open: dict[str, Log] = {}
        self._inputs: dict[str, Input] = {}
        self._numbers: dict[str, int] = {}
        self._stdin = b""
        self._stdin_lines = 0
        self._parts = 0
        self._chunks: list[Held] = []
        self._moving = True
        self._judge_from = 0.0
        self._saved: object = None
        self._floor_of: tuple[tuple[int, int], int | None] | None = None
        self.counts = Counts()

    def _clock_of(self, before: kept.State) -> dict[tuple[int, int], dict[int, float]]:
        """Return when the pieces of each file were read that an earlier run held, by their ends."""
        seen: dict[tuple[int, int], dict[int, float]] = {}
        if before.boot and before.boot == kept.boot():
            for piece in before.seen:
                seen.setdefault((piece.device, piece.inode), {})[piece.end] = piece.at
        return seen

    def _restore(self, before: kept.State) -> None:
        """Take the rows that an earlier run held for long, and when they were read."""
        frames = kept.frames(before.suspects, "observations")
        if not frames:
            return
        rows = pl.concat(frames, how="vertical")
        same = before.boot == kept.boot() and len(before.suspects_at) == rows.height
        times = before.suspects_at if same and before.boot else [time.monotonic()] * rows.height
        self._ring.restore(times, rows)

    def step(self, *, last: bool = False) -> list[dict[str, Any]]:
        """Read what is new and return the findings that were told; ``last`` waits for nothing.

        Raises:
            NoInputError: a log that was named does not exist.
            PrivacyError: a row holds what it may not hold.
        """
        self._find()
        self._read(last=last)
        now = time.monotonic()
        told = self._output.findings(self._paced(now, last=last))
        self.counts.tiers.update(item["tier"] for item in told)
        keep = self._asked.keep
        self._ring.forget(now - keep, now - _LONGER * keep, self._floor())
        self._save()
        return told

    def _save(self) -> None:
        """Remember how far this came, where it came any further."""
        if self._state_file is None:
            return
        places = {name: log.places() for name, log in self._open.items()}
        now = (places, len(self._output.told), self._ring.sizes())
        if now != self._saved:
            kept.save(self._state_file, self._state())
            self._saved = now

    def close(self) -> None:
        """Close the files."""
        for log in self._open.values():
            log.close()

    def _find(self) -> None:
        """Look which logs there are now; what was moved aside is read by its first name."""
        inputs = {source.name: source for source in expand(*self._logs)}
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
                places = self._before.pop(source.name, ())
                self._open[source.name] = Log(
                    source.path, places, self._teller(source.name), self._seen
                )
        if not self._inputs:
            raise NoInputError("no log that can be followed was named")

    def _own(self, name: str) -> set[tuple[int, int]]:
        return {(place.device, place.inode) for place in self._before.get(name, ())}

    def _teller(self, name: str) -> Any:
        def told(event: Event) -> None:
            self.counts.events[event] += 1
            self._output.write([{"event": event, "log": name}])

        return told

    def _read(self, *, last: bool) -> None:
        """Read each log up to where it ends now: a busy one is never read to its end."""
        ends = {name: log.end() for name, log in self._open.items()}
        left = with_nodes(list(self._inputs.values()))
        while left:
            left = [s for s in left if self._read_piece(s, ends.get(s.name), last=last)]
            self._ring.add(self._chunks, self._asked.keep)
            self._chunks = []

    def _read_piece(self, source: Input, end: End | None, *, last: bool) -> bool:
        """Read a piece of a log; return whether there is more of it, up to its end."""
        if source.path is None:
            return self._read_stdin(source, last=last)
        log = self._open[source.name]
        chunk = log.read(last=last)
        if chunk is None:
            return False
        if not self._take(source, chunk, last=last):
            log.back(chunk)
            return False
        return not log.reached(end)

    def _read_stdin(self, source: Input, *, last: bool) -> bool:
        """Read what is there of standard input, or with ``last`` a piece of all that comes."""
        ended = False
        while not ended and len(self._stdin) < MOST and (last or _ready()):
            data = os.read(sys.stdin.buffer.fileno(), 1 << 20)
            self._stdin += data
            ended = not data
        end = self._stdin.rfind(b"\n") + 1
        if (last and ended) or (not end and len(self._stdin) >= MOST):
            end = len(self._stdin)
        if not end:
            return False
        begin = Place(0, 0, "", 0, 0, self._stdin_lines)
        chunk = Chunk(self._stdin[:end], begin, begin)
        if self._take(source, chunk, last=last):
            self._stdin = self._stdin[end:]
            self._stdin_lines += chunk.data.count(b"\n")
        return last and not ended

    def _take(self, source: Input, chunk: Chunk, *, last: bool) -> bool:
        """Read a chunk; return False where its format is not known yet."""
        number = self._numbers[source.name]
        folder = self._folder / f"{self._parts:08d}"
        folder.mkdir(mode=0o700)
        self._parts += 1
        piece = in_place_of(replace(source, number=number), chunk.data)
        name = self._formats.get(source.name)
        reading = read_shard(Shard((piece,), self._incident, folder, name))
        facts = reading.files[0]
        if facts.format is None and len(chunk.data) < _UNTOLD and not last:
            return False
        if facts.format is not None and " + " not in facts.format:
            self._formats[source.name] = facts.format
        for part in reading.parts:
            _renumber(part, chunk.begin.lines)
        self.counts.records += facts.read
        self.counts.unreadable += len(facts.unread)
        self.counts.last_record = time.time() if facts.read else self.counts.last_record
        parts = tuple(reading.parts)
        small = Reading(capacity=reading.capacity, markers=reading.markers, clock=reading.clock)
        held = Held(self._when(chunk), source.name, chunk.begin, chunk.end, parts, small)
        self._chunks.append(held)
        self._moving = True
        return True

    def _when(self, chunk: Chunk) -> float:
        """Return when a piece was first read: now, or by an earlier run."""
        end, now = chunk.end, time.monotonic()
        return min(now, self._seen.get((end.device, end.inode), {}).get(end.offset, now))

    def _floor(self) -> int | None:
        """Return from how many tokens on a prompt may be too long for some engine."""
        known = (len(self._ring.capacity), self._ring.clock.total())
        if self._floor_of is None or self._floor_of[0] != known:
            self._floor_of = known, self._lowest()
        return self._floor_of[1]

    def _lowest(self) -> int | None:
        clocks = Clocks.infer(self._ring.clock, self._incident.logs.timezone)
        epochs = build(list(self._ring.capacity), clocks, self._incident).epochs
        stated = self._incident.trigger.threshold_tokens
        sizes = [epochs[name].min() for name in ("pool_tokens", "input_limit_tokens")]
        known = [int(str(size)) for size in [*sizes, stated] if size is not None]
        return max(0, min(known) - self._incident.trigger.slack_tokens) if known else None

    def _paced(self, now: float, *, last: bool) -> list[dict[str, Any]]:
        """Judge what is at rest, but leave the more time for reading the longer that takes."""
        if now < self._judge_from and not last:
            return []
        found = self._at_rest(now, last=last)
        ended = time.monotonic()
        self._judge_from = ended + _REST * (ended - now)
        return found

    def _at_rest(self, now: float, *, last: bool) -> list[dict[str, Any]]:
        """Return judged requests of the affected tiers that no record was added to of late."""
        if not (self._moving or last):
            return []  # all is at rest, and was judged so
        rows = self._ring.suspects(self._floor())
        self._moving = bool(rows.height) and bool((rows["_at"] > now - self._asked.settle).any())
        if not rows.height:
            return []
        reading = self._ring.reading(rows, self._folder / "suspects.parquet")
        judged = analyse(reading, self._incident).requests
        judged = judged.filter(pl.col("tier").is_in(AFFECTED_TIERS))
        if last:
            return lines(judged)
        moving = rows.filter(pl.col("_at") > now - self._asked.settle)
        restless = pl.concat([moving[name] for name in IDS]).drop_nulls().unique().implode()
        names = [name for name in IDS if name in judged.columns]
        moves = [pl.col(name).is_in(restless).fill_null(value=False) for name in names]
        return lines(judged.filter(~pl.any_horizontal(moves)))

    def _state(self) -> kept.State:
        begun = self._ring.begins()
        logs = {}
        for name, log in self._open.items():
            oldest = begun.get(name, {})
            now = {(p.device, p.inode): p for p in log.places()}
            logs[name] = list({**now, **oldest}.values()) if oldest else list(now.values())
        times, old = self._ring.old()
        return kept.State(
            logs=logs,
            seen=[
                kept.Seen(p.device, p.inode, p.offset, t) for p, t in self._ring.ends() if p.inode
            ],
            boot=kept.boot(),
            suspects_at=times,
            formats=self._formats,
            capacity=kept.learnt(self._ring.capacity, "capacity"),
            markers=kept.learnt(self._ring.markers, "markers"),
            clock=[(node, ahead, n) for (node, ahead), n in sorted(self._ring.clock.items())],
            told=sorted(self._output.told),
            suspects=kept.learnt([old] if old.height else [], "observations"),
        )


def _ready() -> bool:
    """Say whether something of standard input, or its end, is there."""
    import select

    return bool(select.select([sys.stdin.buffer], [], [], 0)[0])


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


def reached(told: Sequence[dict[str, Any]], tier: str | None) -> bool:
    """Say whether a finding is of a tier or a surer one."""
    return tier is not None and any(TIERS.index(f["tier"]) <= TIERS.index(tier) for f in told)
