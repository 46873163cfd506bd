"""Write a report: the document, its HTML, the tables and the manifest, whole or not at all."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from forensics import declared, tables
from forensics import exposure as doc
from forensics.coverage.covered import share
from forensics.coverage.proved import with_proved
from forensics.encode import csv_bytes, parquet_bytes
from forensics.evidence.madeby import typst_version
from forensics.evidence.seal import seal
from forensics.manifest import manifest
from forensics.output import refuse_inputs, whole_folder, write_private
from forensics.report import html, markdown, pdf
from forensics.sources.files import STDIN, as_shown, on_disk

if TYPE_CHECKING:
    from forensics.case import Case


@dataclass(frozen=True)
class Report:
    """A finished report: its folder and its document."""

    folder: Path
    exposure: doc.Exposure

    def __repr__(self) -> str:
        return f"{self.folder / 'report.html'}: {self.exposure.headline.sentence}"


def write_report(case: Case, out: Path, *, force: bool = False, with_pdf: bool = False) -> Report:
    """Write all files of a report into ``out``; see :meth:`forensics.Case.report`."""
    if with_pdf:
        pdf.require()
    refuse_inputs(out, [str(on_disk(f.name)) for f in case.analysis.files if f.name != STDIN])
    with whole_folder(out, "report", force=force) as folder:
        begun = time.perf_counter()
        case.analysis.finish()
        case.run.seconds["sources"] = time.perf_counter() - begun
        begun = time.perf_counter()
        exposure = case.exposure()
        files = {**_documents(exposure, with_pdf=with_pdf), **_tables(case, exposure)}
        case.run.seconds["write"] = time.perf_counter() - begun
        for name, data in files.items():
            write_private(folder / name, data)
        own = {"command": "report", "out": as_shown(str(out)), "force": force, "pdf": with_pdf}
        case.run.arguments |= own | ({"typst": typst_version()} if with_pdf else {})
        seal(folder, manifest(case.analysis, exposure, case.run))
    return Report(out, exposure)


def _documents(exposure: doc.Exposure, *, with_pdf: bool) -> dict[str, bytes]:
    return {
        "report.json": doc.encode(exposure),
        "report.schema.json": doc.json_schema(),
        "report.html": html.render(exposure),
        "report.md": markdown.render(exposure),
        **({"report.pdf": pdf.render(exposure)} if with_pdf else {}),
    }


def _tables(case: Case, exposure: doc.Exposure) -> dict[str, bytes]:
    analysis = case.analysis
    rows = analysis.requests
    affected = tables.request_table(tables.affected(rows))
    ruled_out = tables.request_table(tables.ruled_out(rows))
    unknown = tables.request_table(tables.not_assessable(rows))
    tenants = tables.tenants(exposure)
    pairs = tables.source_pairs(analysis.pairs)
    named = tables.source_requests(analysis)
    capacity = tables.capacity(analysis, exposure)
    notices = tables.notifications(exposure, rows, _covered(case))
    return {
        "affected_requests.parquet": parquet_bytes(affected, declared.REQUESTS),
        "affected_requests.csv": csv_bytes(affected, declared.REQUESTS),
        "ruled_out.parquet": parquet_bytes(ruled_out, declared.REQUESTS),
        "not_assessable.parquet": parquet_bytes(unknown, declared.REQUESTS),
        "evidence.parquet": parquet_bytes(case.lineage(), declared.LINEAGE),
        "affected_tenants.parquet": parquet_bytes(tenants, declared.TENANTS),
        "affected_tenants.csv": csv_bytes(tenants, declared.TENANTS),
        "source_pairs.parquet": parquet_bytes(pairs, declared.PAIRS),
        "source_requests.parquet": parquet_bytes(named, declared.SOURCE_REQUESTS),
        "rejections.csv": csv_bytes(tables.rejections(exposure), declared.REJECTIONS),
        "timing_clusters.csv": csv_bytes(tables.clusters(exposure), declared.CLUSTERS),
        "capacity.csv": csv_bytes(capacity, declared.CAPACITY),
        "coverage.csv": csv_bytes(tables.coverage(analysis), declared.COVERAGE),
        "unreadable.csv": csv_bytes(tables.unreadable(analysis), declared.UNREADABLE),
        "notifications.csv": csv_bytes(notices, declared.NOTIFICATIONS),
    }


def _covered(case: Case) -> float | None:
    """Return the share of the window that the logs cover, in percent."""
    analysis = case.analysis
    times = analysis.requests["received_at"].drop_nulls()
    if analysis.incident.window_us is None and not len(times):
        return None
    window = (int(times.min()), int(times.max()) + 1) if len(times) else (0, 0)  # type: ignore[arg-type]
    rows = with_proved(analysis.coverage.hours, analysis.holes.lacking)
    return share(rows, *(analysis.incident.window_us or window))
