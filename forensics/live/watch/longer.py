"""Rows that gave reason to look closer: few, and held for longer than the others."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import polars as pl

from forensics import schema
from forensics.live.watch.rows import Kept, Rows

_EMPTY = {**schema.ORIGIN, "_at": pl.Float64()}


class Longer:
    """Holds them in memory, and in a file for the next run.

    Args:
        files: where they are written to, and what an earlier run left there.
    """

    def __init__(self, files: Rows) -> None:
        self._files = files
        found = files.read()
        self.rows = pl.concat([pl.DataFrame(schema=_EMPTY), *found], how="diagonal_relaxed")

    @property
    def kept(self) -> list[Kept]:
        """The file, if there are any."""
        return self._files.kept

    def change(self, more: Sequence[pl.DataFrame], before: float) -> None:
        """Take further rows, and let go of those that were read before a time."""
        left = self.rows.filter(pl.col("_at") >= before)
        if left.height == self.rows.height and not more:
            return
        self.rows = pl.concat([left, *more], how="diagonal_relaxed").rechunk()
        self._files.drop(inf)
        if self.rows.height:
            self._files.put([self.rows], before)

    def sweep(self) -> None:
        """Remove the files that are held no more."""
        self._files.sweep()
