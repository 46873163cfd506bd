"""Logs that grow, rotate, are copied, packed and emptied at random, and a watch that is killed.

The truth is known: which records were written, and which files were destroyed. With rows kept
for ever, what a watch holds in the end says which records it read, and how often.
"""

import bz2
import gzip
import json
import random
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from forensics.incident import Incident
from forensics.live.watch import lasting, ring, state
from forensics.live.watch.asked import Asked
from forensics.live.watch.judge import Judge
from forensics.live.watch.told import Output
from forensics.live.watch.watch import Watch

SETTLE = 10.0
PACKERS = {".gz": gzip.compress, ".bz2": bz2.compress}


class KilledError(BaseException):
    """The run is over, from one moment to the next."""


class Log:
    """One log as its writer and a rotation see it."""

    def __init__(self, path: Path, draw: random.Random) -> None:
        self.path, self.draw = path, draw
        self.names = draw.choice(["dated", "after", "within"])
        self.copies = draw.random() < 0.5
        self.most = 50 if self.copies else draw.choice([1, 2, 3, 50])
        self.pack = draw.choice([None, None, ".gz", ".bz2"])
        self.delayed = draw.random() < 0.5
        self.rotations, self.half, self.copied = 0, b"", False
        self.late = False
        self.destroyed: set[int] = set()
        self.file = path.open("ab", buffering=0)
        self.old: Any = None

    def write(self, line: bytes, *, half: bool = False) -> None:
        """Append a line, or the first half of it; what is left of one comes first."""
        self.whole()
        cut = self.draw.randrange(1, len(line)) if half else len(line)
        self.file.write(line[:cut])
        self.half = line[cut:]

    def whole(self) -> None:
        if self.half:
            self.file.write(self.half)
            self.half = b""

    def reopen(self) -> None:
        """The writer takes note of a rotation."""
        self.whole()
        self.file.close()
        self.file = self.path.open("ab", buffering=0)

    def rotate(self, *, at_once: bool) -> None:
        """Move the log aside; its writer may go on writing to the old file for a while."""
        self._make_room()
        self.path.rename(self._first())
        self.path.touch()
        self._pack(self._first())
        if at_once or self.packs_now:
            self.reopen()
        self.late |= not at_once

    def copy_and_empty(self) -> None:
        self.whole()
        if self.file_is_old():
            self.reopen()
        self._make_room()
        self.copied = True
        shutil.copy(self.path, self._first())
        with self.path.open("r+b") as file:
            file.truncate()
        self._pack(self._first())

    def empty(self) -> None:
        """Empty it without a copy of what was in it."""
        if self.file_is_old():
            self.reopen()
        self.whole()
        self._destroy(self.path, keep=True)
        with self.path.open("r+b") as file:
            file.truncate()

    def file_is_old(self) -> bool:
        import os

        return (
            not self.path.exists() or os.fstat(self.file.fileno()).st_ino != self.path.stat().st_ino
        )

    @property
    def packs_now(self) -> bool:
        return self.pack is not None and not self.delayed

    def _first(self) -> Path:
        return self._aside(20_260_900 + self.rotations if self.names == "dated" else 1)

    def _aside(self, number: int, packed: str = "") -> Path:
        """Where it is moved to: counted or dated after its name, or counted within."""
        if self.names == "within":
            return self.path.with_name(f"{self.path.stem}.{number}{self.path.suffix}{packed}")
        sign = "-" if self.names == "dated" else "."
        return self.path.with_name(f"{self.path.name}{sign}{number}{packed}")

    def _make_room(self) -> None:
        if not self.packs_now and self.file_is_old():
            self.reopen()
        elif self.packs_now:
            self.whole()
        self.rotations += 1
        beside = [
            p
            for p in self.path.parent.iterdir()
            if p.name.startswith(f"{self.path.stem}.") and p != self.path
        ]
        if self.names == "dated":
            for path in sorted(beside)[: max(0, len(beside) + 1 - self.most)]:
                self._destroy(path)
            for path in sorted(p for p in beside if p.exists())[-1:]:
                self._pack(path, late=True)
            return
        for path in sorted(beside, key=lambda p: -self._number(p)):
            number = self._number(path)
            if number + 1 > self.most:
                self._destroy(path)
                continue
            moved = self._aside(number + 1, path.suffix if path.suffix in PACKERS else "")
            path.rename(moved)
            self._pack(moved, late=True)

    def _number(self, path: Path) -> int:
        return next(int(part) for part in path.name.split(".")[1:] if part.isdecimal())

    def _pack(self, path: Path, *, late: bool = False) -> None:
        if self.pack is None or path.suffix in PACKERS or late != self.delayed:
            return
        packed = path.with_name(path.name + self.pack)
        packed.write_bytes(PACKERS[self.pack](path.read_bytes()))
        path.unlink()

    def _destroy(self, path: Path, *, keep: bool = False) -> None:
        self.whole()
        self.destroyed |= numbers(path)
        if not keep:
            path.unlink()


def numbers(path: Path) -> set[int]:
    """The records that a file holds."""
    unpack = {".gz": gzip.decompress, ".bz2": bz2.decompress}.get(path.suffix, bytes)
    whole = [line for line in unpack(path.read_bytes()).splitlines() if line.endswith(b"}")]
    return {json.loads(line)["completion_tokens"] for line in whole}


class World:
    """Logs, their writers, and one watch after the other over them."""

    def __init__(self, folder: Path, seed: int, patch: pytest.MonkeyPatch, *, judged: bool) -> None:
        self.draw, self.folder, self.patch, self.judged = random.Random(seed), folder, patch, judged
        (folder / "logs").mkdir(parents=True)
        self.out, self.state = folder / "found.ndjson", folder / "state"
        self.clock, self.serial, self.runs, self.kills = 1000.0, 0, 0, 0
        self.written: dict[int, str] = {}
        self.bad: set[int] = set()
        self.ids: dict[int, str] = {}
        patch.setattr("time.monotonic", lambda: self.clock)
        names = [f"decode-0{number}.log" for number in range(self.draw.randint(1, 3))]
        self.logs = [Log(folder / "logs" / name, self.draw) for name in names]
        for log in self.logs:
            if self.draw.random() < 0.7:
                self.append(log)
        self.named = [str(log.path) for log in self.logs]
        if self.draw.random() < 0.4:
            self.named = [str(folder / "logs")]
        self.settle = self.draw.choice([SETTLE, SETTLE, 0.0])
        self.moved: list[Path] = []
        self.answered: set[str] = set()
        self.watch: Watch | None = None
        self.before: set[int] = set()
        self.unreadable = 0
        self.trace: list[str] = []

    def append(self, log: Log, *, half: bool = False) -> None:
        self.serial += 1
        number, bad = self.serial, self.draw.random() < 0.3
        record = {
            "hop": "decode", "decode_node": log.path.stem, "http_status": 200, "prompt_tokens": 512,
            "reserved_pages": 8, "transferred_pages": 1 if bad else 8, "completion_tokens": number,
            "received_at": f"2026-09-01T10:{number // 60:02d}:{number % 60:02d}Z",
        }  # fmt: skip
        if not bad or self.draw.random() < 0.6:
            record["request_id"] = f"rq-{number}"
        if bad:
            self.bad.add(number)
        self.written[number] = str(log.path)
        log.write(json.dumps(record).encode() + b"\n", half=half)

    def start(self) -> None:
        self.runs += 1
        (scratch := self.folder / f"scratch-{self.runs}").mkdir()
        asked = Asked(settle=self.settle, keep=1e9, stop_at="possible")
        try:
            self.watch = Watch(
                self.named, Incident(), scratch, Output(self.out, ()), self.state, asked
            )
        except KilledError:
            self.over()

    def over(self) -> None:
        if self.watch is not None:
            self.unreadable += self.watch.counts.unreadable
            self.watch.close()
        self.watch = None

    def step(self, *, last: bool = False) -> None:
        if self.watch is None:
            self.start()
        assert self.watch is not None
        for log in self.logs:
            if log.most < 50 and not log.path.stat().st_size:
                # Once it was seen empty, nobody can tell it from what its inode is used for again.
                log.reopen()
                self.append(log)
        with pytest.MonkeyPatch.context() as patch:
            if not self.judged and not last:
                patch.setattr(Judge, "findings", lambda *_, **__: [])
            if not last and self.draw.random() < 0.25:
                self._arm(patch)
            if not self.state.exists():
                for log in self.logs:
                    log.reopen()
                self.before = self._not_asked_for()
            try:
                self.watch.step(last=last)
                self._end()
            except KilledError:
                self.kills += 1
                self.trace.append("killed")
                self.over()

    def _end(self) -> None:
        """End the run where it is to be ended for what it or a killed one told."""
        assert self.watch is not None
        told = {one["finding_id"] for one in self.told() if one["event"] == "finding"}
        assert self.watch.is_over == bool(told - self.answered), "each is ended for, and once"
        if self.watch.is_over:
            self.watch.end()
            self.answered = told

    def _not_asked_for(self) -> set[int]:
        """What is older than the watch, and lies in files that were not named."""
        gone = {number for log in self.logs for number in log.destroyed}
        if self.named == [str(self.folder / "logs")]:
            return gone
        own = {log.path for log in self.logs}
        beside = [path for path in (self.folder / "logs").iterdir() if path not in own]
        return gone | {number for path in beside for number in numbers(path)}

    def _arm(self, patch: pytest.MonkeyPatch) -> None:
        """Let the run be killed before or after one of the things it does."""
        where, name = self.draw.choice(
            [(state, "save"), (Output, "write"), (ring.Ring, "add"), (ring.Ring, "sweep"),
             (ring.Ring, "forget"), (lasting, "state")]
        )  # fmt: skip
        real, after, cut = getattr(where, name), self.draw.random() < 0.5, self.draw.random()

        def killed(*given: Any, **named: Any) -> Any:
            size = self.out.stat().st_size if self.out.exists() else 0
            if after:
                real(*given, **named)
            if after and where is Output and self.out.exists() and cut < 0.5:
                with self.out.open("r+b") as file:
                    file.truncate(self.draw.randint(size, self.out.stat().st_size))
            raise KilledError

        patch.setattr(where, name, killed)

    def act(self) -> None:
        """Let one thing happen."""
        log = self.draw.choice(self.logs)
        weights = {
            self._grow: 30, self._half: 6, self._rotate: 5, self._late: 3, self._copy: 4,
            self._empty: 0.3, self._step: 25, self._wait: 4, self._kill: 3, self._clock: 2,
            self._aside: 2,
        }  # fmt: skip
        does = self.draw.choices(list(weights), list(weights.values()))[0]
        self.trace.append(f"{does.__name__} {log.path.name}")
        does(log)

    def _grow(self, log: Log) -> None:
        for _ in range(self.draw.randint(1, 5)):
            self.append(log)

    def _half(self, log: Log) -> None:
        self.append(log, half=True)

    def _rotate(self, log: Log, *, at_once: bool = True) -> None:
        for _ in range(self.draw.choice([1, 1, 1, 2, 3])):
            if self.draw.random() < 0.7:
                self.append(log)
            log.rotate(at_once=at_once)

    def _late(self, log: Log) -> None:
        self._rotate(log, at_once=not self.settle)

    def _aside(self, _: Log) -> None:
        """The file of findings is moved aside while a watch runs."""
        if self.watch is not None and self.out.exists():
            self.moved.append(self.out.rename(self.out.with_suffix(f".{len(self.moved)}")))

    def _copy(self, log: Log) -> None:
        for _ in range(self.draw.choice([1, 1, 2])):
            self.append(log)
            if log.copies:
                log.copy_and_empty()
            else:
                log.rotate(at_once=True)

    def _empty(self, log: Log) -> None:
        """Empty it after a look: what comes and goes between two looks leaves no trace."""
        log.reopen()
        self.append(log)
        self.step()
        if self.watch is not None:
            self.append(log)
            log.empty()

    def _step(self, _: Log) -> None:
        self.step()
        self.clock += 1.0

    def _wait(self, _: Log) -> None:
        for one in self.logs:
            one.reopen()
        self.step()
        self.clock += 2 * SETTLE

    def _kill(self, _: Log) -> None:
        self.over()

    def _clock(self, _: Log) -> None:
        jump = self.draw.uniform(0, 4e9)
        self.patch.setattr("time.time", lambda: jump)

    def end(self) -> None:
        for log in self.logs:
            log.reopen()
        for _ in range(3):
            self.step()
            self.clock += SETTLE
        self.step(last=True)

    def read(self) -> Counter[int]:
        """Which records are held, and how often."""
        assert self.watch is not None
        frames = [frame.select("completion_tokens") for frame in self.watch._ring.rows.scan()]
        rows = pl.concat([pl.LazyFrame(schema={"completion_tokens": pl.Int64}), *frames])
        return Counter(rows.collect()["completion_tokens"].to_list())

    def told(self) -> list[dict[str, Any]]:
        files = [path for path in (*self.moved, self.out) if path.exists()]
        return [json.loads(line) for path in files for line in path.read_text().splitlines()]

    def check(self) -> Counter[str]:
        """Hold what was read and told against the truth."""
        read, told = self.read(), self.told()
        assert self.watch is not None
        assert self.unreadable + self.watch.counts.unreadable == 0
        assert [number for number, count in read.items() if count > 1] == [], "read twice"
        left = self.before - {number for log in self.logs for number in log.destroyed}
        assert not left & set(read), "nobody asked for that"
        unread = set(self.written) - set(read) - self.before
        destroyed = {number for log in self.logs for number in log.destroyed}
        assert unread <= destroyed, f"not read though it was there: {sorted(unread - destroyed)}"
        lost = [one for one in told if one["event"] == "lost"]
        for log in self.logs:
            here = str(log.path)
            of_log = [one for one in lost if one["log"] == here]
            missing = {number for number in unread if self.written[number] == here}
            assert bool(missing) <= bool(of_log), f"lost in silence: {sorted(missing)}"
            assert missing or not any(one["certain"] for one in of_log), "nothing was lost"
            unsure = log.destroyed or log.pack or log.copied or log.late
            assert unsure or not of_log, "nothing can have been lost"
        found = Counter(one["completion_tokens"] for one in told if one["event"] == "finding")
        assert found == Counter(self.bad & set(read))
        ids = [one.get("finding_id") or one["event_id"] for one in told]
        assert len(set(ids)) == len(ids)
        return Counter(one["event"] for one in told) + Counter(unread=len(unread), kills=self.kills)
