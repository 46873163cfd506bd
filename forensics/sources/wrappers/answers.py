"""Further answers of log stores, and what is sent to them, as JSON documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct, field

from forensics.sources.wrappers import jsonforms, labels
from forensics.sources.wrappers.documents import DocumentForm, Stream, stream_lines
from forensics.sources.wrappers.inner import Inner


class _Pushed(Struct):
    streams: list[Stream]


def _pushed(document: _Pushed) -> list[Inner]:
    return stream_lines(document.streams)


class _Cell(Struct):
    field: str
    value: str = ""


class _Insights(Struct):
    results: list[list[_Cell]]


def _insights(document: _Insights) -> list[Inner | None]:
    rows = [{cell.field: cell.value for cell in row} for row in document.results]
    return [_row(row) for row in rows]


def _row(row: dict[str, str]) -> Inner | None:
    if "@message" not in row:
        return None
    at = f"{row['@timestamp']}Z" if "@timestamp" in row else None
    return Inner(row["@message"].encode(), at, row.get("@logStream", ""))


class _Entries(Struct):
    entries: list[jsonforms.Google]


def _entries(document: _Entries) -> list[Inner | None]:
    return [jsonforms.google(entry) for entry in document.entries]


class _Logged(Struct):
    message: str | None = None
    timestamp: str | None = None
    host: str | None = None


class _Kept(Struct):
    attributes: _Logged


class _Page(Struct):
    data: list[_Kept]


def _page(document: _Page) -> list[Inner | None]:
    return [_logged(one.attributes) for one in document.data]


def _logged(one: _Logged) -> Inner | None:
    return (one.message and Inner(one.message.encode(), one.timestamp, one.host or "")) or None


class _Rows(Struct):
    names: list[str | dict[str, Any]] = field(name="fields")
    rows: list[list[Any]]


def _rows(document: _Rows) -> Sequence[Inner | None]:
    names = [name if isinstance(name, str) else name.get("name", "") for name in document.names]
    return [_event(dict(zip(names, row, strict=True))) for row in document.rows]


def _event(row: dict[str, Any]) -> Inner | None:
    line, at = row.get("_raw"), row.get("_time")
    if not isinstance(line, str):
        return None
    return Inner(line.encode(), at if isinstance(at, str) else None, labels.stream(row))


FORMS = (
    DocumentForm(
        "loki-push",
        "what is sent to Loki",
        _Pushed,
        _pushed,
        (b'"streams"', b'"stream"', b'"values"'),
    ),
    DocumentForm(
        "cloudwatch-insights",
        "an answer of CloudWatch Insights",
        _Insights,
        _insights,
        (b'"results"', b'"field"', b'"@message"'),
        each=b'"@message"',
    ),
    DocumentForm(
        "google-entries",
        "an answer of Google Cloud Logging",
        _Entries,
        _entries,
        (b'"entries"', b'"insertId"', b'"timestamp"'),
        each=b'"insertId"',
    ),
    DocumentForm(
        "datadog-answer",
        "an answer of Datadog",
        _Page,
        _page,
        (b'"data"', b'"attributes"', b'"message"', b'"timestamp"'),
        each=b'"message"',
    ),
    DocumentForm(
        "splunk-rows",
        "an answer of Splunk in rows",
        _Rows,
        _rows,
        (b'"fields"', b'"rows"', b'"_raw"'),
    ),
)
