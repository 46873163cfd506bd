"""Rows of late on disk: in few files, in however many pieces they were read.

A look at many growing logs gives a small part for each of them. What is looked through again
and again must not consist of thousands of those, so a look's parts become one file, and files
of looks that follow each other become one in turn, as long as that spans little time: a file
is let go as a whole, when its newest row is old enough.

The files outlast a run where its state does. None is changed once it is written, and none is
removed before a state was saved that does without it: whenever a run is killed, the files
that its last state names are there.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from pathlib import Path

import msgspec
import polars as pl

from forensics import guard
from forensics.sources.layout import PART

_FAN = 4
"""How many files of one size become one."""
_SPAN = 1 / 16
"""Of the time that rows are kept, how much one file may span."""
_END = ".rows"
_ANEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


class Kept(msgspec.Struct, frozen=True):
    """A file of rows.

    Attributes:
        name: in the folder; "" where the looks gave none.
        looks: how many looks are in it.
        oldest: when the first of its rows was read, seconds of the running clock.
        newest: when the last one was.
        at: when all count as read, where the clock began anew since.
    """

    name: str
    looks: int
    oldest: float
    newest: float
    at: float | None = None


class Rows:
    """Rows of the looks of late, each with ``_at``, when it was read.

    Args:
        folder: private; what is in it and not kept is removed.
        kept: what an earlier run left there, oldest first.
    """

    def __init__(self, folder: Path, kept: Sequence[Kept] = ()) -> None:
        self._folder = folder
        folder.mkdir(mode=0o700, exist_ok=True)
        there = {path.name for path in folder.glob(f"*{_END}")}
        self._serial = max((int(n.removesuffix(_END)) for n in there), default=0)
        self.missing = [one for one in kept if one.name and not self._is_whole(one)]
        self._files = deque(one for one in kept if one not in self.missing)
        held = {one.name for one in self._files}
        self._garbage = [folder / name for name in there - held]

    @property
    def kept(self) -> list[Kept]:
        """The files, oldest first."""
        return list(self._files)

    def add(self, read: Sequence[tuple[float, Path]], at: float) -> None:
        """Take the parts of a look, as one file.

        Args:
            read: when each part was read, and the part; it is removed.
            at: when the look was, where it gave no part.

        Raises:
            PrivacyError: a row holds what it may not hold.
        """
        self.put([pl.read_parquet(path).with_columns(_at=pl.lit(time)) for time, path in read], at)
        for _, path in read:
            path.unlink(missing_ok=True)

    def put(self, frames: Sequence[pl.DataFrame], at: float) -> None:
        """Take rows that have a time, as the file of one look; where there are none it was at."""
        rows = pl.concat(frames, how="diagonal_relaxed") if frames else pl.DataFrame()
        if not rows.height:
            self._files.append(Kept("", 1, at, at))
            return
        guard.held(rows.drop("_at"), PART)
        oldest, newest = rows.select(pl.col("_at").min(), newest=pl.col("_at").max()).row(0)
        self._files.append(Kept(self._write(rows), 1, oldest, newest))

    def merge(self, keep: float) -> None:
        """Make one file of those that follow each other and are of one size."""
        while len(self._files) >= _FAN:
            last = [self._files[i] for i in range(-_FAN, 0)]
            oldest, newest = min(f.oldest for f in last), max(f.newest for f in last)
            if len({f.looks for f in last}) > 1 or newest - oldest > keep * _SPAN:
                return
            looks = sum(f.looks for f in last)
            frames = [self._scan(f).collect() for f in last if f.name]
            name = self._write(pl.concat(frames, how="diagonal_relaxed")) if frames else ""
            for _ in last:
                self._leave(self._files.pop())
            self._files.append(Kept(name, looks, oldest, newest))

    def scan(self) -> list[pl.LazyFrame]:
        """Return what is held, file by file; columns that a file lacks are absent."""
        return [self._scan(f) for f in self._files if f.name]

    def read(self) -> list[pl.DataFrame]:
        """Return what is held, in memory."""
        return [frame.collect() for frame in self.scan()]

    def drop(self, before: float) -> list[pl.DataFrame]:
        """Let go of the files whose rows are all from before a time; return the rows."""
        gone = []
        while self._files and self._files[0].newest < before:
            file = self._files.popleft()
            if file.name:
                gone.append(self._scan(file).collect())
                self._leave(file)
        return gone

    def sweep(self) -> None:
        """Remove the files that are held no more: no state names them from now on."""
        while self._garbage:
            self._garbage.pop().unlink(missing_ok=True)

    def _scan(self, file: Kept) -> pl.LazyFrame:
        rows = pl.scan_parquet(self._folder / file.name)
        return rows if file.at is None else rows.with_columns(_at=pl.lit(file.at))

    def _write(self, rows: pl.DataFrame) -> str:
        """Write rows as one file, see to it that it is on disk, and return its name."""
        self._serial += 1
        path = self._folder / f"{self._serial}{_END}"
        with os.fdopen(os.open(path, _ANEW, 0o600), "wb") as file:
            rows.write_parquet(file, compression="uncompressed", statistics=False)
            file.flush()
            os.fsync(file.fileno())
        return path.name

    def _leave(self, file: Kept) -> None:
        if file.name:
            self._garbage.append(self._folder / file.name)

    def _is_whole(self, file: Kept) -> bool:
        try:
            pl.read_parquet_schema(self._folder / file.name)
        except (OSError, pl.exceptions.PolarsError):
            return False
        return True
