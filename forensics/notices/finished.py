"""A finished report as notices need it: checked first, then its document and its tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from forensics import exposure as doc
from forensics.errors import NoInputError, VerificationError
from forensics.evidence import counts, files
from forensics.evidence.folder import Sealed, recorded
from forensics.evidence.hashes import Digest
from forensics.evidence.reporttables import PAIRS_FILE, REPORT_FILE, SOURCES_FILE, ReportTables
from forensics.evidence.seal import MANIFEST
from forensics.exposure import Exposure
from forensics.guard_document import checked_document
from forensics.wording import count


@dataclass(frozen=True)
class Finished:
    """What a report says, and the manifest that it is known by."""

    folder: Path
    exposure: Exposure
    manifest: Digest
    requests: pl.DataFrame
    """Affected requests, and those that could not be judged."""
    ruled_out: pl.DataFrame
    pairs: pl.DataFrame
    named: pl.DataFrame
    """Requests that pairs name as sources, as the logs have them."""
    notices: pl.DataFrame
    """``notifications.csv``; its cells are text."""

    @cached_property
    def stated(self) -> dict[str, dict[str, Any]]:
        """The rows of ``notifications.csv`` by the id of the notice."""
        return {row["notice_id"]: row for row in self.notices.iter_rows(named=True)}

    @cached_property
    def to_own(self) -> dict[str | None, int]:
        """How many of the responses that may hold a tenant's data went to itself."""
        own = self.pairs.filter("same_tenant")
        once = own.select("source_tenant_id", "request_id").unique()
        return dict(once.group_by("source_tenant_id").len().iter_rows())


def finished(folder: Path) -> Finished:
    """Return a report that is what was written.

    Raises:
        NoInputError: there is no report.
        VerificationError: a file or a count of it is not what was written.
    """
    sealed, record = recorded(folder)
    if record.kind != "report":
        raise NoInputError(f"{folder}: no report")
    _refuse_damage(folder, sealed)
    tables = ReportTables(folder, sealed.files, record)
    manifest = sealed.files[MANIFEST]
    if manifest is None:
        raise VerificationError(f"{folder / MANIFEST}: cannot be read")
    names = ("affected_requests.parquet", "not_assessable.parquet")
    return Finished(
        folder,
        _document(tables),
        manifest,
        pl.concat([tables.table(name) for name in names], how="diagonal_relaxed").rechunk(),
        tables.table("ruled_out.parquet"),
        tables.table(PAIRS_FILE),
        _of_this_version(tables, SOURCES_FILE),
        tables.table("notifications.csv"),
    )


def _of_this_version(tables: ReportTables, name: str) -> pl.DataFrame:
    try:
        return tables.table(name)
    except FileNotFoundError:
        raise NoInputError(f"{tables.folder / name}: missing; make the report again") from None


def _refuse_damage(folder: Path, sealed: Sealed) -> None:
    faults = [*files.check(sealed), *(one for one in counts.check(sealed) if not one.holds)]
    if faults:
        rest = f" ({count(len(faults), 'fault')} in all)" if len(faults) > 1 else ""
        raise VerificationError(f"{folder}: {faults[0]}{rest}; no notice is made from it")


def _document(tables: ReportTables) -> Exposure:
    try:
        return checked_document(doc.decode(tables.text(REPORT_FILE).encode()))
    except msgspec.DecodeError:
        where = tables.folder / REPORT_FILE
        raise NoInputError(f"{where}: of another version; make the report again") from None
