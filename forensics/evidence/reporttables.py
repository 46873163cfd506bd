"""The files of a finished report, read back: its document and its tables."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from forensics.errors import NoInputError
from forensics.evidence.folder import recorded
from forensics.evidence.record import Record

if TYPE_CHECKING:
    from forensics.case import Case

REPORT_FILE = "report.json"
REQUEST_FILES = ("affected_requests.parquet", "ruled_out.parquet", "not_assessable.parquet")
EVIDENCE_FILE = "evidence.parquet"
PAIRS_FILE = "source_pairs.parquet"
SOURCES_FILE = "source_requests.parquet"
TENANTS_FILE = "affected_tenants.parquet"


class ReportTables:
    """Reads a report's files on demand, each once.

    Args:
        folder: the report.
        trusted: names of files that may be read; others count as missing. A table with
            other bytes than were written could make its reader fail in any way.
        record: the manifest.
    """

    def __init__(self, folder: Path, trusted: Collection[str], record: Record) -> None:
        self.folder = folder
        self.record = record
        self.asked: list[str] = []
        """Names that were asked for; whoever wants to know may clear it before."""
        self._trusted = frozenset(trusted)
        self._tables: dict[str, pl.DataFrame] = {}
        self._document: dict[str, Any] | None = None

    @classmethod
    def of_case(cls, case: Case) -> ReportTables:
        """Return the tables that a report of this case would hold, without writing one."""
        made = cls(Path(), (), Record())
        made._document = msgspec.to_builtins(case.exposure())
        frames = (case.affected, case.ruled_out, case.not_assessable)
        made._tables = {
            name: frame.polars() for name, frame in zip(REQUEST_FILES, frames, strict=True)
        }
        made._tables[EVIDENCE_FILE] = case.lineage()
        made._tables[PAIRS_FILE] = case.sources.polars()
        made._tables[TENANTS_FILE] = case.tenants.polars()
        return made

    def _path(self, name: str) -> Path:
        if name not in self._trusted:
            raise FileNotFoundError(name)
        return self.folder / name

    @property
    def document(self) -> dict[str, Any]:
        """``report.json`` as plain objects: reports of other versions can be read too."""
        self.asked.append(REPORT_FILE)
        if self._document is None:
            data = self._path(REPORT_FILE).read_bytes()
            self._document = msgspec.json.decode(data, type=dict[str, Any])
        return self._document

    def table(self, name: str) -> pl.DataFrame:
        """Return a table; the cells of CSV are text."""
        self.asked.append(name)
        if name not in self._tables:
            path = self._path(name)
            self._tables[name] = (
                pl.read_parquet(path, hive_partitioning=False, glob=False)
                if name.endswith(".parquet")
                else pl.read_csv(path, infer_schema=False, glob=False)
            )
        return self._tables[name]

    def requests(self) -> pl.DataFrame:
        """Return every listed request: affected, ruled out and not assessable."""
        return pl.concat([self.table(name) for name in REQUEST_FILES], how="diagonal_relaxed")

    def bytes_of(self, name: str) -> bytes:
        """Return a file's bytes."""
        self.asked.append(name)
        return self._path(name).read_bytes()

    def text(self, name: str) -> str:
        """Return a file as text."""
        self.asked.append(name)
        return self._path(name).read_text(encoding="utf-8")


def finished(folder: Path) -> ReportTables:
    """Return the files of a finished report, whether or not they are what was written.

    Raises:
        NoInputError: there is no report, or one of its files is missing or cannot be read.
    """
    sealed, record = recorded(folder)
    if record.kind != "report":
        raise NoInputError(f"{folder}: no report")
    report = ReportTables(folder, sealed.files, record)
    for name in (REPORT_FILE, *REQUEST_FILES, EVIDENCE_FILE, PAIRS_FILE, TENANTS_FILE):
        try:
            report.document if name == REPORT_FILE else report.table(name)
        except (OSError, msgspec.DecodeError, *_TABLE_ERRORS):
            raise NoInputError(f"{folder / name}: missing, or cannot be read") from None
    return report


_TABLE_ERRORS = (pl.exceptions.PolarsError, pl.exceptions.PanicException)
