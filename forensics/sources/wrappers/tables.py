"""Wrappers that are tables: exports of log stores as CSV, a line of the engine in one column."""

from __future__ import annotations

import csv
from dataclasses import dataclass

from forensics.sources.wrappers import labels
from forensics.sources.wrappers.inner import Inner, Inners
from forensics.sources.wrappers.jsonforms import nanoseconds
from forensics.sources.wrappers.rows import QuotedRows
from forensics.sources.wrappers.shipped import moment


@dataclass(frozen=True)
class TableForm:
    """A wrapper that is a table: its columns for the line and for the time.

    ``nanoseconds`` where the time is a whole number of those.
    """

    name: str
    title: str
    line: tuple[str, ...]
    at: tuple[str, ...]
    nanoseconds: bool = False
    only: frozenset[str] = frozenset()
    """All names that its header may have, where other tables have such columns too."""

    def tells(self, header: list[str]) -> bool:
        """Say whether a header is that of this table."""
        if self.only and not self.only.issuperset(header):
            return False
        return not set(self.line).isdisjoint(header) and not set(self.at).isdisjoint(header)


FORMS = (
    TableForm("splunk-csv", "a Splunk export (CSV)", ("_raw",), ("_time", "_serial", "source")),
    TableForm("grafana-csv", "a download of Grafana Explore (CSV)", ("Line",), ("tsNs",), True),
    TableForm(
        "azure-csv",
        "Azure Container Insights (CSV)",
        ("LogMessage", "LogEntry"),
        ("TimeGenerated", "TimeGenerated [UTC]"),
    ),
    TableForm(
        "cloudwatch-csv",
        "a CloudWatch export (CSV)",
        ("@message", "message"),
        ("@timestamp", "timestamp"),
        only=frozenset(
            [
                "timestamp",
                "message",
                "logStreamName",
                "ingestionTime",
                "eventId",
                "@timestamp",
                "@message",
                "@logStream",
                "@log",
                "@ptr",
                "@ingestionTime",
            ]
        ),
    ),
    TableForm(
        "elastic-csv",
        "a Kibana export (CSV)",
        ("message", "log", "event.original"),
        ("@timestamp",),
    ),
)


class Table(QuotedRows):
    """Takes the lines out of the rows of a table."""

    def __init__(self, form: TableForm) -> None:
        super().__init__()
        self._form = form
        self._header: list[str] | None = None

    def _row(self, text: str, found: Inners) -> None:
        try:
            row = next(csv.reader([text.rstrip("\r\n")], strict=True), [])
        except csv.Error:
            found.refuse(self._begun, "row that is no CSV: a quote or a line end out of place")
            return
        if self._header is None:
            self._header = [name.strip() for name in row]
            found.ignore("header")
        elif len(row) != len(self._header):
            found.refuse(self._begun, "row with another number of fields than the header")
        else:
            self._inner(dict(zip(self._header, row, strict=True)), found)

    def _inner(self, row: dict[str, str], found: Inners) -> None:
        line = next((row[name] for name in self._form.line if row.get(name)), "")
        at = next((row[name] for name in self._form.at if row.get(name)), None)
        if not line:
            found.refuse(self._begun, f"row of {self._form.title} without a line")
            return
        written = nanoseconds(at) if self._form.nanoseconds else moment(at)
        found.add(Inner(line.encode(), written, labels.stream(row)), self._begun)
