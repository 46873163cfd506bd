"""Rows of late on disk: in few files, in however many pieces they were read.

A look at many growing logs gives a small part for each of them. What is looked through again
and again must not consist of thousands of those, so a look's parts become one file, and files
of looks that follow each other become one in turn, as long as that spans little time: a file
is let go as a whole, when its newest row is old enough.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

_FAN = 4
"""How many files of one size become one."""
_SPAN = 1 / 16
"""Of the time that rows are kept, how much one file may span."""


@dataclass(frozen=True)
class _File:
    """Rows of some looks: the last of them, when the rows were read, how many looks, where."""

    look: int
    oldest: float
    newest: float
    looks: int
    path: Path | None


class Rows:
    """Rows of the looks of late, each with ``_at``, when it was read."""

    def __init__(self) -> None:
        self._files: deque[_File] = deque()

    def add(self, look: int, read: Sequence[tuple[float, Path]], at: float) -> None:
        """Take the parts of a look, as one file.

        Args:
            look: its number, larger than those before.
            read: when each part was read, and the part; it is removed.
            at: when the look was, where it gave no part.
        """
        times = [time for time, _ in read] or [at]
        made = _merged(
            [pl.scan_parquet(path).with_columns(_at=pl.lit(time)) for time, path in read],
            [path for _, path in read],
        )
        self._files.append(_File(look, min(times), max(times), 1, made))

    def merge(self, keep: float) -> None:
        """Make one file of those that follow each other and are of one size."""
        while len(self._files) >= _FAN:
            last = [self._files[i] for i in range(-_FAN, 0)]
            oldest, newest = min(f.oldest for f in last), max(f.newest for f in last)
            if len({f.looks for f in last}) > 1 or newest - oldest > keep * _SPAN:
                return
            paths = [f.path for f in last if f.path is not None]
            made = _merged([pl.scan_parquet(path) for path in paths], paths)
            for _ in last:
                self._files.pop()
            looks = sum(f.looks for f in last)
            self._files.append(_File(last[-1].look, oldest, newest, looks, made))

    def scan(self) -> list[pl.LazyFrame]:
        """Return what is held, file by file; columns that a file lacks are absent."""
        return [pl.scan_parquet(f.path) for f in self._files if f.path is not None]

    def drop(self, before: float) -> tuple[int | None, list[pl.DataFrame]]:
        """Let go of the files whose rows are all from before a time.

        Returns:
            The last look that is held no more, None if all are; and the rows, for the last time.
        """
        look, gone = None, []
        while self._files and self._files[0].newest < before:
            file = self._files.popleft()
            look = file.look
            if file.path is not None:
                gone.append(pl.read_parquet(file.path))
                file.path.unlink(missing_ok=True)
        return look, gone


def _merged(frames: list[pl.LazyFrame], paths: list[Path]) -> Path | None:
    """Write frames as one file in the place of the first, and remove the others."""
    if not frames:
        return None
    rows = pl.concat(frames, how="diagonal_relaxed").collect()
    made = paths[0].with_suffix(".rows")
    rows.write_parquet(made, compression="uncompressed", statistics=False)
    for path in paths:
        if path != made:
            path.unlink(missing_ok=True)
    return made
