"""Write a report: the document, its HTML, the tables and the manifest, whole or not at all."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from forensics import exposure as doc
from forensics import tables
from forensics.coverage import hours_covered
from forensics.lineage import LINEAGE_TABLE
from forensics.manifest import manifest
from forensics.output import refuse_inputs, whole_folder, write_private
from forensics.report.html import render
from forensics.sources.files import STDIN

if TYPE_CHECKING:
    from forensics.case import Case


@dataclass(frozen=True)
class Report:
    """A finished report: its folder and its document."""

    folder: Path
    exposure: doc.Exposure

    def __repr__(self) -> str:
        return f"{self.folder / 'report.html'}: {self.exposure.headline.sentence}"


def write_report(case: Case, out: Path, *, force: bool = False) -> Report:
    """Write all files of a report into ``out``; see :meth:`forensics.Case.report`."""
    refuse_inputs(out, [facts.name for facts in case.analysis.files if facts.name != STDIN])
    with whole_folder(out, force=force) as folder:
        begun = time.perf_counter()
        exposure = case.exposure()
        files = {**_documents(exposure), **_tables(case, exposure)}
        case.run.seconds["write"] = time.perf_counter() - begun
        for name, data in files.items():
            write_private(folder / name, data)
        write_private(folder / "manifest.json", manifest(case.analysis, exposure, files, case.run))
    return Report(out, exposure)


def _documents(exposure: doc.Exposure) -> dict[str, bytes]:
    return {"report.json": doc.encode(exposure), "report.html": render(exposure)}


def _tables(case: Case, exposure: doc.Exposure) -> dict[str, bytes]:
    analysis = case.analysis
    rows = analysis.requests
    affected = tables.guard(tables.request_table(tables.affected(rows)), tables.REQUEST_TABLE)
    ruled_out = tables.guard(tables.request_table(tables.ruled_out(rows)), tables.REQUEST_TABLE)
    unknown = tables.guard(tables.request_table(tables.not_assessable(rows)), tables.REQUEST_TABLE)
    tenants = tables.guard(tables.tenants(exposure), tables.TENANT_TABLE)
    lineage = tables.guard(case.lineage(), LINEAGE_TABLE)
    return {
        "affected_requests.parquet": tables.parquet_bytes(affected),
        "affected_requests.csv": tables.csv_bytes(affected),
        "ruled_out.parquet": tables.parquet_bytes(ruled_out),
        "not_assessable.parquet": tables.parquet_bytes(unknown),
        "evidence.parquet": tables.parquet_bytes(lineage),
        "affected_tenants.parquet": tables.parquet_bytes(tenants),
        "affected_tenants.csv": tables.csv_bytes(tenants),
        "source_pairs.parquet": tables.parquet_bytes(tables.source_pairs(analysis.pairs)),
        "rejections.csv": tables.csv_bytes(tables.rejections(exposure)),
        "timing_clusters.csv": tables.csv_bytes(tables.clusters()),
        "capacity.csv": tables.csv_bytes(tables.capacity(analysis, exposure)),
        "coverage.csv": tables.csv_bytes(tables.coverage(analysis)),
        "unreadable.csv": tables.csv_bytes(tables.unreadable(analysis)),
        "notifications.csv": tables.csv_bytes(tables.notifications(exposure, rows, _covered(case))),
    }


def _covered(case: Case) -> float | None:
    """Return the share of the window's hours that hold any record, in percent."""
    window = case.analysis.incident.window_us
    times = case.analysis.requests["received_at"].drop_nulls()
    if window is None and not len(times):
        return None
    start, end = window or (int(times.min()), int(times.max()) + 1)  # type: ignore[arg-type]
    seen, total = hours_covered(case.analysis.coverage, start, end)
    return round(100 * seen / total, 2) if total else None
