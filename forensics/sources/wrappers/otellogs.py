"""Logs as OTLP/JSON: what a collector wrote into a file, a batch of lines in each record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct, field

from forensics.sources.wrappers import labels
from forensics.sources.wrappers.inner import Inner
from forensics.sources.wrappers.jsonforms import JsonForm, nanoseconds


class _Value(Struct, gc=False):
    text: str | None = field(name="stringValue", default=None)


class _Attribute(Struct, gc=False):
    key: str
    value: _Value | None = None


class _Line(Struct, gc=False):
    body: _Value | None = None
    at: str | int | None = field(name="timeUnixNano", default=None)
    observed: str | int | None = field(name="observedTimeUnixNano", default=None)
    attributes: list[_Attribute] = field(default_factory=list)


class _Scope(Struct, gc=False):
    lines: list[_Line] = field(name="logRecords", default_factory=list)


class _Resource(Struct, gc=False):
    attributes: list[_Attribute] = field(default_factory=list)


class _Logs(Struct, gc=False):
    scopes: list[_Scope] = field(name="scopeLogs", default_factory=list)
    resource: _Resource = field(default_factory=_Resource)


class _Batch(Struct, gc=False):
    logs: list[_Logs] = field(name="resourceLogs")


def _lines(batch: _Batch) -> Sequence[Inner | None]:
    return [one for logs in batch.logs for one in _of(logs)]


def _of(logs: _Logs) -> Iterator[Inner | None]:
    resource = _named(logs.resource.attributes)
    for line in (line for scope in logs.scopes for line in scope.lines):
        if line.body is None or line.body.text is None:
            yield None
            continue
        stream = labels.stream(resource) or labels.stream(_named(line.attributes))
        at = next((m for m in map(_micros, (line.at, line.observed)) if m), None)
        yield Inner(line.body.text.encode(), at, stream)


def _micros(value: str | int | None) -> int | None:
    return nanoseconds(None if value is None else str(value))


def _named(attributes: Sequence[_Attribute]) -> dict[str, Any]:
    return {one.key: one.value.text for one in attributes if one.value is not None}


FORM = JsonForm("otel-logs", "OTLP/JSON logs", _Batch, _lines)
