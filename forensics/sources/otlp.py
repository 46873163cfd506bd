"""OpenTelemetry spans as JSON: only the attributes that were asked for are decoded.

Spans of inference stacks may hold whole prompts (``gen_ai.input.messages`` and its
many kin). The value of an attribute stays undecoded bytes until its key is known to
be wanted, and a span that was read holds nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import msgspec
from msgspec import Raw, Struct, field

Scalar = str | int | float | bool


class NotSpansError(Exception):
    """The document holds no list of spans."""


@dataclass(frozen=True)
class Span:
    """One span: ids as text, times in microseconds of UTC, and the attributes asked for."""

    trace: str
    span: str
    parent: str
    name: str
    start: int | None
    end: int | None
    attributes: Mapping[str, Scalar]

    def text(self, key: str) -> str | None:
        """Return an attribute that is text; any other is None."""
        value = self.attributes.get(key)
        return value if isinstance(value, str) else None

    def whole(self, key: str) -> int | None:
        """Return an attribute that is a whole number, zero to 2**63 - 1; any other is None."""
        value = self.attributes.get(key)
        if not isinstance(value, int) or isinstance(value, bool):
            return None
        return value if 0 <= value < 2**63 else None


class _Value(Struct):
    string: str | None = field(default=None, name="stringValue")
    number: str | int | None = field(default=None, name="intValue")
    double: float | None = field(default=None, name="doubleValue")
    flag: bool | None = field(default=None, name="boolValue")


class _Attribute(Struct):
    key: str
    value: Raw = Raw(b"null")


class _Span(Struct):
    trace: str = field(name="traceId")
    span: str = field(name="spanId")
    parent: str | None = field(default=None, name="parentSpanId")
    name: str = ""
    start: str | int | None = field(default=None, name="startTimeUnixNano")
    end: str | int | None = field(default=None, name="endTimeUnixNano")
    attributes: list[_Attribute] = []


class _Scope(Struct):
    spans: list[Raw] = []


class _Resource(Struct):
    scopes: list[_Scope] = field(default_factory=list, name="scopeSpans")


class _Document(Struct):
    resources: list[_Resource] = field(name="resourceSpans")


_FAULTS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def spans(document: bytes, wanted: Collection[str]) -> Iterator[Span | None]:
    """Yield the spans of one document, and None for each that cannot be read.

    Args:
        document: one JSON object with ``resourceSpans``.
        wanted: keys of the attributes to decode.

    Raises:
        NotSpansError: the document as a whole cannot be read.
    """
    try:
        decoded = msgspec.json.decode(document, type=_Document)
    except _FAULTS:
        raise NotSpansError from None
    for resource in decoded.resources:
        for scope in resource.scopes:
            for raw in scope.spans:
                yield _decoded(raw, wanted)


def _decoded(raw: Raw, wanted: Collection[str]) -> Span | None:
    try:
        span = msgspec.json.decode(raw, type=_Span)
        found = {a.key: _scalar(a.value) for a in span.attributes if a.key in wanted}
    except _FAULTS:
        return None
    values = {key: value for key, value in found.items() if value is not None}
    start, end = _micros(span.start), _micros(span.end)
    return Span(span.trace, span.span, span.parent or "", span.name, start, end, values)


def _scalar(raw: Raw) -> Scalar | None:
    """Return a plain value; lists and maps are None."""
    value = msgspec.json.decode(raw, type=_Value | None)
    if value is None:
        return None
    if value.number is not None:
        return _integer(value.number)
    return next((v for v in (value.string, value.flag, value.double) if v is not None), None)


def _integer(value: str | int) -> int | None:
    """Return a 64-bit integer, which JSON holds as text; never by way of a float."""
    if isinstance(value, int):
        return value
    return int(value) if re.fullmatch(r"-?[0-9]{1,20}", value) else None


def _micros(nanos: str | int | None) -> int | None:
    number = None if nanos is None else _integer(nanos)
    return None if number is None or number <= 0 else number // 1_000
