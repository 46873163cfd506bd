"""OpenTelemetry spans as JSON: only the attributes that were asked for are decoded.

Spans of inference stacks may hold whole prompts (``gen_ai.input.messages`` and its
many kin). The value of an attribute stays undecoded bytes until its key is known to
be wanted, and a span that was read holds nothing else: no event, no link, no message.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

import msgspec
from msgspec import Raw, Struct
from msgspec import field as named

Scalar = str | int | float | bool
INSIDE = ("scopeSpans", "instrumentationLibrarySpans")
"""Keys of the lists of spans within a document."""
_ERROR = (2, "2", "STATUS_CODE_ERROR")
SAMPLED = "span of a sample"
"""Counts spans whose trace state has a threshold of rejection above zero: others were not kept."""
_REJECTS = re.compile(r"(?:^|,)\s*ot=(?:[^,]*;)?th:(?=0*[1-9a-f])[0-9a-f]{1,14}\s*(?:[;,]|$)")
_LONGEST_STATE = 1_024


class NotSpansError(Exception):
    """The document holds no list of spans."""


@dataclass(frozen=True)
class Span:
    """One span: ids as text, times in microseconds of UTC, and the attributes asked for.

    ``resource`` has the attributes asked for of the process that wrote it, ``scope`` is the
    instrumentation, ``failed`` whether its status is an error, ``sampled`` whether it says that
    others like it were not kept. A list is its first text.
    """

    trace: str
    span: str
    parent: str
    name: str
    start: int | None
    end: int | None
    attributes: Mapping[str, Scalar]
    resource: Mapping[str, Scalar] = field(default_factory=dict)
    scope: str = ""
    failed: bool = False
    sampled: bool = False

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

    def measure(self, key: str) -> float | None:
        """Return an attribute that is a number; any other is None."""
        value = self.attributes.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        return float(value)


class _Texts(Struct):
    values: list[Raw] | None = None


class _Value(Struct):
    string: str | None = named(default=None, name="stringValue")
    number: str | int | float | None = named(default=None, name="intValue")
    double: float | str | None = named(default=None, name="doubleValue")
    flag: bool | None = named(default=None, name="boolValue")
    several: _Texts | None = named(default=None, name="arrayValue")


class _Attribute(Struct):
    key: str
    value: Raw = Raw(b"null")


class _Status(Struct):
    code: int | str | None = None


class _Span(Struct):
    trace: str = named(name="traceId")
    span: str = named(name="spanId")
    parent: str | None = named(default=None, name="parentSpanId")
    name: str = ""
    start: str | int | None = named(default=None, name="startTimeUnixNano")
    end: str | int | None = named(default=None, name="endTimeUnixNano")
    attributes: list[_Attribute] | None = None
    status: _Status | None = None
    state: str | None = named(default=None, name="traceState")


class _Named(Struct):
    name: str | None = None


class _Scope(Struct):
    spans: list[Raw] | None = None
    scope: _Named | None = None
    library: _Named | None = named(default=None, name="instrumentationLibrary")


class _Process(Struct):
    attributes: list[_Attribute] | None = None


class _Resource(Struct):
    resource: _Process | None = None
    scopes: list[_Scope] | None = named(default=None, name="scopeSpans")
    libraries: list[_Scope] | None = named(default=None, name="instrumentationLibrarySpans")


class _Traced(Struct):
    resources: list[_Resource] | None = named(default=None, name="resourceSpans")


class _Document(Struct):
    resources: list[_Resource] | None = named(default=None, name="resourceSpans")
    batches: list[_Resource] | None = None
    logs: Raw = named(default=Raw(b""), name="resourceLogs")
    metrics: Raw = named(default=Raw(b""), name="resourceMetrics")
    trace: _Traced | None = None


_FAULTS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def spans(
    document: bytes, wanted: Collection[str], process: Collection[str] = ()
) -> Iterator[Span | None]:
    """Yield the spans of one document, and None for each that cannot be read.

    Args:
        document: one JSON object with ``resourceSpans`` (Tempo writes ``batches``, or
            puts the list into ``trace``).
        wanted: keys of the attributes to decode.
        process: keys of the resource's attributes to decode.

    Raises:
        NotSpansError: the document as a whole cannot be read.
    """
    decoded = _document(document)
    traced = decoded.trace.resources if decoded.trace else None
    for resource in [*(decoded.resources or ()), *(decoded.batches or ()), *(traced or ())]:
        known = _process(resource, process)
        for scope in [*(resource.scopes or ()), *(resource.libraries or ())]:
            name = next((s.name for s in (scope.scope, scope.library) if s and s.name), "")
            for raw in scope.spans or ():
                yield _decoded(raw, wanted, known, name)


def other_signal(document: bytes) -> str | None:
    """Say which other signal a document without spans holds; None if it is none of them."""
    try:
        decoded = msgspec.json.decode(document, type=_Document)
    except _FAULTS:
        return None
    if bytes(decoded.logs):
        return "log records beside spans"
    return "metrics beside spans" if bytes(decoded.metrics) else None


def _document(document: bytes) -> _Document:
    try:
        decoded = msgspec.json.decode(document, type=_Document)
    except _FAULTS:
        raise NotSpansError from None
    if decoded.resources is None and decoded.batches is None and decoded.trace is None:
        raise NotSpansError from None
    return decoded


def _process(resource: _Resource, wanted: Collection[str]) -> Mapping[str, Scalar]:
    attributes = (resource.resource.attributes if resource.resource else None) or []
    try:
        return _wanted(attributes, wanted)
    except _FAULTS:
        return {}


def _decoded(
    raw: Raw, wanted: Collection[str], process: Mapping[str, Scalar], scope: str
) -> Span | None:
    try:
        span = msgspec.json.decode(raw, type=_Span)
        found = _wanted(span.attributes or [], wanted)
    except _FAULTS:
        return None
    start, end = _micros(span.start), _micros(span.end)
    failed = span.status is not None and span.status.code in _ERROR
    ids = span.trace, span.span, span.parent or ""
    sampled = _REJECTS.search((span.state or "")[:_LONGEST_STATE]) is not None
    return Span(*ids, span.name, start, end, found, process, scope, failed, sampled)


def _wanted(attributes: list[_Attribute], wanted: Collection[str]) -> dict[str, Scalar]:
    """Return the attributes that were asked for; one that is there twice is no value.

    Where its values are equal it is one; which of different ones counts, nothing says.
    """
    found: dict[str, Scalar | None] = {}
    for one in attributes:
        if one.key in wanted:
            value = _read(one.value)
            found[one.key] = value if found.get(one.key, value) == value else False
    return {key: value for key, value in found.items() if value is not None}


def _read(raw: Raw) -> Scalar | None:
    """Return a value; one in no known form is False, which is no text and no number."""
    try:
        return _scalar(raw)
    except _FAULTS:
        return False


def _scalar(raw: Raw) -> Scalar | None:
    """Return a plain value; a list is its first text, a map is None."""
    value = msgspec.json.decode(raw, type=_Value | None)
    if value is None:
        return None
    if value.number is not None:
        return _integer(value.number)
    if value.several is not None:
        first = _scalar(value.several.values[0]) if value.several.values else None
        return first if isinstance(first, str) else None
    # ``NaN`` and ``Infinity`` are texts there.
    double = value.double if isinstance(value.double, float) else None
    return next((v for v in (value.string, value.flag, double) if v is not None), None)


def _integer(value: str | float) -> int | None:
    """Return a 64-bit integer, which JSON holds as text; a float only where it is exact."""
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 2**53 else None
    return int(value) if re.fullmatch(r"-?[0-9]{1,20}", value) else None


def _micros(nanos: str | int | None) -> int | None:
    number = None if nanos is None else _integer(nanos)
    return None if number is None or number <= 0 else number // 1_000
