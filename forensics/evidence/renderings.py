"""What a report says twice, made again from the document and compared line by line."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from forensics import declared, tables
from forensics import exposure as doc
from forensics.encode import csv_bytes
from forensics.evidence import twins
from forensics.evidence.faults import Fault
from forensics.evidence.madeby import drawn_alike, printed_alike, same_build
from forensics.evidence.reporttables import REPORT_FILE, TENANTS_FILE, ReportTables


def renderings(report: ReportTables) -> Iterator[Fault]:
    """The renderings and these tables are those of the document, each CSV that of its Parquet.

    Only the build that made a report makes the same bytes again; another leaves it be, which
    ``verify`` says.
    """
    if not same_build(report.record):
        return
    exposure = doc.decode(report.text(REPORT_FILE).encode())
    of_document = {
        "affected_tenants.csv": csv_bytes(tables.tenants(exposure), declared.TENANTS),
        "rejections.csv": csv_bytes(tables.rejections(exposure), declared.REJECTIONS),
        "timing_clusters.csv": csv_bytes(tables.clusters(exposure), declared.CLUSTERS),
    }
    for name, made in of_document.items():
        yield _compared(report, name, made, REPORT_FILE)
    affected = csv_bytes(report.table("affected_requests.parquet"), declared.REQUESTS)
    yield _compared(report, "affected_requests.csv", affected, "affected_requests.parquet")
    same = tables.tenants(exposure).equals(report.table(TENANTS_FILE))
    yield Fault(TENANTS_FILE, f"tables that are not that of {REPORT_FILE}", int(not same), 0)
    yield from twins.capacity(report, exposure)
    yield from twins.coverage(report, exposure)
    if drawn_alike(report.record):
        from forensics.report import html, markdown, pdf

        yield _compared(report, "report.html", html.render(exposure), REPORT_FILE)
        yield _compared(report, "report.md", markdown.render(exposure), REPORT_FILE)
        if report.record.arguments.get("pdf") is True and printed_alike(report.record):
            same = report.bytes_of("report.pdf") == pdf.render(exposure)
            yield Fault(
                "report.pdf", f"papers that are not that of {REPORT_FILE}", int(not same), 0
            )
    yield _compared(report, "report.schema.json", doc.json_schema(), "this build")


def _compared(report: ReportTables, name: str, made: bytes, source: str) -> Fault:
    lines = zip_longest(report.text(name).encode().split(b"\n"), made.split(b"\n"))
    return Fault(name, f"lines that are not those of {source}", sum(a != b for a, b in lines), 0)
