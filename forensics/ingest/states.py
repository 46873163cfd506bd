"""What is counted of the partitions of an input, written beside them."""

from __future__ import annotations

import hashlib
from pathlib import Path

import polars as pl

from forensics.columns import DTYPES
from forensics.ingest import disk
from forensics.sources.layout import KINDS
from forensics.sources.ledger import Rows
from forensics.triage.quiet import NEEDED, ODD
from forensics.triage.state import FOLDER, ROWS, encode

_KIND = "observations"


class States:
    """Takes the partitions of an input in their order; some in a row share a state.

    Attributes:
        wanted: the input may be triaged; of others nothing is written.
        written: the states, so far.
    """

    def __init__(self, folder: Path, key: str, scratch: Path, *, wanted: bool) -> None:
        self.wanted = wanted
        self.written: list[Rows] = []
        self._folder, self._key, self._scratch = folder, key, scratch
        self._files: list[Rows] = []
        self._rows: list[pl.DataFrame] = []

    def add(self, item: Rows, rows: pl.DataFrame) -> None:
        """Take a partition, of whatever kind; only those of requests are counted.

        Raises:
            PrivacyError: the rows are none of their table.
        """
        if self.wanted and item.name.startswith(f"{_KIND}/"):
            self._files.append(item)
            self._rows.append(rows)
            if sum(own.rows for own in self._files) >= ROWS:
                self._write()

    def close(self) -> tuple[Rows, ...]:
        """Write what is left and return the states."""
        if self._files:
            self._write()
        return tuple(self.written)

    def _give_up(self) -> None:
        """Leave no state of an input that is not triaged: it has several records of a request."""
        for item in self.written:
            (self._folder / item.name).unlink(missing_ok=True)
        self.wanted, self.written = False, []
        self._files, self._rows = [], []

    def _write(self) -> None:
        rows = pl.concat(self._rows, how="diagonal")
        self._rows = []
        absent = [pl.lit(None, dtype=DTYPES[name]).alias(name) for name in NEEDED]
        rows = rows.with_columns(a for a in absent if a.meta.output_name() not in rows.columns)
        if rows.select(ODD.any()).item():
            self._give_up()
            return
        data = encode(self._files, rows, KINDS[_KIND].table)
        name = f"{FOLDER}/{self._key}-{len(self.written)}.state"
        disk.put(self._folder, name, data, self._scratch)
        digest = hashlib.sha256(data).hexdigest()
        self.written.append(Rows(name, len(data), digest, rows.height))
        self._files, self._rows = [], []
