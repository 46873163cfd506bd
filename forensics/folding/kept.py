"""Records behind requests, in files: a stage reads the columns that it names, and lets them go.

All of them in memory would be as much as the requests themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from forensics.folding.held import NUMBERED


@dataclass(frozen=True)
class Kept:
    """Files with records, in order, and the names of the columns that were kept of them.

    Those of the hand-offs ``left_out`` are not among them, but for what is in the files ``more``.
    They lie in the private folder of a run and are gone when it ends.
    """

    files: tuple[Path, ...]
    names: frozenset[str]
    left_out: pl.Series = field(default_factory=lambda: pl.Series("handoff", [], dtype=pl.UInt32))
    more: tuple[Path, ...] = ()

    def read(self, names: Iterable[str]) -> pl.DataFrame:
        """Return ``handoff`` and some columns of all records; not those that no record filled.

        Raises:
            LookupError: a column was not kept, whatever records have of it.
        """
        return pl.concat(self.each(names), how="diagonal_relaxed")

    def each(self, names: Iterable[str]) -> Iterator[pl.DataFrame]:
        """Yield the same of each file; all records of a hand-off lie in one."""
        names = self._known(names)
        for file in self.files:
            rows = _columns(file, names)
            if self.left_out.len():
                rows = rows.filter(~pl.col("handoff").is_in(self.left_out.implode()))
            yield rows
        for file in self.more:
            yield _columns(file, names)

    def unique(self, names: Iterable[str]) -> pl.DataFrame:
        """Return what some columns hold, each once: those of one file are in memory at a time."""
        rows = [own.drop("handoff").unique() for own in self.each(names)]
        return pl.concat(rows, how="diagonal_relaxed").unique()

    def _known(self, names: Iterable[str]) -> list[str]:
        wanted = list(dict.fromkeys(("handoff", *names)))
        gone = [name for name in wanted if name not in self.names]
        if gone:
            raise LookupError(f"not kept of all records (forensics.folding.slim): {gone[0]}")
        return wanted

    def when(self, *, wanted: object) -> Kept | Nothing:
        """Return these, or none where they are not wanted: nothing is read then."""
        return self if wanted else Nothing()

    def without(self, handoffs: pl.Series) -> Kept:
        """Return these without those of some hand-offs."""
        return replace(self, left_out=handoffs)

    def beside(self, file: Path | None) -> Kept:
        """Return these and further ones."""
        return self if file is None else replace(self, more=(*self.more, file))


class Nothing:
    """No records, with any columns."""

    def read(self, names: Iterable[str]) -> pl.DataFrame:
        """Return an empty frame."""
        wanted = dict.fromkeys(("handoff", *names))
        return pl.DataFrame(schema={name: NUMBERED.dtypes[name] for name in wanted})


def _columns(file: Path, names: Iterable[str]) -> pl.DataFrame:
    here = pl.read_parquet_schema(file)
    return pl.read_parquet(file, columns=[name for name in names if name in here])
