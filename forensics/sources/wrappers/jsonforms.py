"""Wrappers that are JSON: one object a record, the line of the engine in one of its fields."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import msgspec
import polars as pl
from msgspec import UNSET, Raw, Struct, UnsetType, field

from forensics.sources.blocks import Block
from forensics.sources.jsonrows import FAULTS
from forensics.sources.wrappers import labels
from forensics.sources.wrappers.atonce import joined
from forensics.sources.wrappers.inner import At, Inner, Partly, Whole

Labels = dict[str, Any] | None


class _Docker(Struct, gc=False):
    log: str
    stream: str
    time: str


_DOCKER = msgspec.json.Decoder(_Docker)


def docker_whole(block: Block) -> Whole | None:
    """Return what all records of a block hold at once; None where they need a closer look."""
    if block.numbers is not None:
        return None
    try:
        records = _DOCKER.decode_lines(block.data)
    except FAULTS:
        return None
    if not records or len(records) != block.data.count(b"\n") + (block.data[-1:] != b"\n"):
        return None
    at = pl.Series([record.time for record in records], dtype=pl.String)
    sources = pl.Series([record.stream for record in records], dtype=pl.String)
    return joined(block, [record.log for record in records], at, sources)


def _docker(record: _Docker) -> Inner:
    whole = record.log.endswith("\n")
    return Inner(record.log.encode(), record.time, more=not whole, source=record.stream)


class _Journal(Struct, gc=False):
    realtime: str = field(name="__REALTIME_TIMESTAMP")
    message: str | list[Any] | UnsetType | None = field(name="MESSAGE", default=UNSET)
    shipped: Any = field(name="message", default=None)
    host: str | list[Any] | None = field(name="_HOSTNAME", default=None)


def _journal(record: _Journal) -> Inner | Partly | str:
    if record.message is UNSET and isinstance(record.shipped, str):
        record.message = record.shipped  # as Vector names it
    if record.message is UNSET:
        return "entry that the journal gave no message of"
    at = record.realtime
    moment = int(at) if at.isdecimal() and len(at) < _FEW_DIGITS else None
    host = next(filter(None, _values(record.host)), b"").decode("utf-8", "replace")
    values = _values(record.message)
    held = [value for value in values if value is not None]
    left_out = len(values) - len(held)
    if not held:
        return Partly(None, left_out, _LEFT_OUT)
    inner = Inner(held[0], moment, host)
    if all(value == held[0] for value in values):
        return inner
    reason = _LEFT_OUT if left_out else "further message of one entry of the journal"
    return Partly(inner, len(values) - 1, reason)


_FEW_DIGITS = 19
_LEFT_OUT = "message that the journal left out (journalctl --all has it), or in no known form"


def _values(field: str | list[Any] | None) -> list[bytes | None]:
    """Return the values of a field: bytes where one is no clean text; several in a list.

    None stands for one that is too long for the journal to show, or in another form.
    """
    if isinstance(field, list) and not _are_bytes(field):
        return [_value(one) for one in field]
    return [_value(field)]


def _value(value: Any) -> bytes | None:
    if isinstance(value, str):
        return value.encode()
    return bytes(value) if isinstance(value, list) and _are_bytes(value) else None


def _are_bytes(value: list[Any]) -> bool:
    return all(type(one) is int and one in range(256) for one in value)


class _Logcli(Struct, gc=False):
    labels: dict[str, str]
    line: str
    timestamp: str


def _logcli(record: _Logcli) -> Inner:
    return Inner(record.line.encode(), record.timestamp, labels.stream(record.labels))


class _Event(Struct, gc=False):
    raw: str = field(name="_raw")
    time: str | float | None = field(name="_time", default=None)
    pod: str | None = None
    pod_name: str | None = None
    host: str | None = None


class _Row(_Event, gc=False):
    time: str | float = field(name="_time")


class _Splunk(Struct, gc=False):
    result: _Event
    preview: bool = False


def splunk_event(event: _Event) -> Inner:
    """Return what an event of Splunk holds."""
    return Inner(
        event.raw.encode(), seconds(event.time), event.pod or event.pod_name or event.host or ""
    )


def _splunk(record: _Splunk) -> Inner | str:
    return "preview of a result" if record.preview else splunk_event(record.result)


class _Source(Struct, gc=False):
    at: str | None = field(name="@timestamp", default=None)
    message: str | None = None
    log: str | dict[str, Any] | None = None
    event: Any = None
    original: str | None = field(name="event.original", default=None)
    kubernetes: dict[str, Any] | None = None
    pod: str | None = field(name="kubernetes.pod.name", default=None)
    pod_name: str | None = field(name="kubernetes.pod_name", default=None)
    host: str | dict[str, Any] | None = None


class Hit(Struct, gc=False):
    """One hit of Elasticsearch or OpenSearch."""

    source: _Source | None = field(name="_source", default=None)
    fields: dict[str, Any] | None = None


def hit(record: Hit) -> Inner | None:
    """Return what a hit holds: in its source, else in the fields that were asked for."""
    found = _shipped(record.source) if record.source is not None else None
    return found or _asked(record.fields or {})


_LINES = ("message", "log", "event.original", "body.text")
_PODS = ("kubernetes.pod.name", "kubernetes.pod_name", "host.name", "host.hostname")


def _asked(fields: dict[str, Any]) -> Inner | None:
    """Return the line among fields, each of which is a list of its values."""
    line = next((text for name in _LINES if (text := _only(fields.get(name)))), None)
    if line is None:
        return None
    pod = next((text for name in _PODS if (text := _only(fields.get(name)))), "")
    return Inner(line.encode(), _only(fields.get("@timestamp")), pod)


def _only(values: Any) -> str | None:
    value = values[0] if isinstance(values, list) and len(values) == 1 else values
    return value if isinstance(value, str) else None


def _shipped(source: _Source) -> Inner | None:
    log = source.log if isinstance(source.log, str) else None
    event = source.event.get("original") if isinstance(source.event, dict) else None
    text = next((t for t in (source.message, log, source.original, event) if t is not None), None)
    if not isinstance(text, str):
        return None
    return Inner(text.encode(), source.at, _pod(source))


def _pod(source: _Source) -> str:
    inside = source.kubernetes or {}
    pod = inside.get("pod")
    named = pod.get("name") if isinstance(pod, dict) else inside.get("pod_name")
    host = source.host if isinstance(source.host, str) else (source.host or {}).get("name")
    found = (source.pod, source.pod_name, named, host)
    return next((name for name in found if isinstance(name, str) and name), "")


class _Beat(_Source, gc=False):
    at: str = field(name="@timestamp")
    message: str


class _Fluent(Struct, gc=False):
    log: str
    date: float | str
    kubernetes: Labels = None
    stream: str = ""
    part: str | None = field(name="_p", default=None)
    tag: str | None = field(name="logtag", default=None)


def _fluent(record: _Fluent) -> Inner:
    cut = "P" in (record.part, record.tag)
    pod = labels.stream(record.kubernetes)
    return Inner(record.log.encode(), seconds(record.date), pod, cut, record.stream)


class _Logged(Struct, gc=False):
    log: str
    kubernetes: Labels = None


_Pair = tuple[float | tuple[float, dict[str, Any]], _Logged]


def _fluent_pair(record: _Pair) -> Inner:
    at, body = record
    at = at[0] if isinstance(at, tuple) else at
    return Inner(body.log.encode(), seconds(at), labels.stream(body.kubernetes))


class _Resource(Struct, gc=False):
    labels: Labels = None


class Google(Struct, gc=False):
    """One entry of Google Cloud Logging."""

    insert: str = field(name="insertId")
    timestamp: str
    text: str | None = field(name="textPayload", default=None)
    json: Raw = field(name="jsonPayload", default_factory=Raw)
    resource: _Resource | None = None


def google(record: Google) -> Inner | None:
    """Return what an entry holds; a payload that is JSON stays as it is."""
    line = record.text.encode() if record.text is not None else bytes(record.json)
    named = record.resource.labels if record.resource is not None else None
    return Inner(line, record.timestamp, labels.stream(named)) if line else None


class _Stern(Struct, gc=False):
    message: str
    pod: str = field(name="podName")
    container: str = field(name="containerName")


def _stern(record: _Stern) -> Inner:
    return Inner(record.message.encode(), None, record.pod)


class _Azure(Struct, gc=False):
    at: str = field(name="TimeGenerated")
    entry: str | None = field(name="LogEntry", default=None)
    message: Raw = field(name="LogMessage", default_factory=Raw)
    pod: str | None = field(name="PodName", default=None)


def _azure(record: _Azure) -> Inner | None:
    line = record.entry.encode() if record.entry is not None else bytes(record.message)
    if line.startswith(b'"'):
        line = msgspec.json.decode(line, type=str).encode()
    return Inner(line, record.at, record.pod or "") if line else None


class _CloudEvent(Struct, gc=False):
    timestamp: int
    message: str
    stream: str | None = field(name="logStreamName", default=None)


class Subscription(Struct, gc=False):
    """What CloudWatch hands to a subscription."""

    kind: str = field(name="messageType")
    stream: str = field(name="logStream")
    events: list[_CloudEvent] = field(name="logEvents")


def subscription(record: Subscription) -> Sequence[Inner] | str:
    """Return what a message for a subscription holds."""
    if record.kind != "DATA_MESSAGE":
        return "control message of CloudWatch"
    return cloud(record.events, record.stream)


def cloud(events: Sequence[_CloudEvent], stream: str = "") -> list[Inner]:
    """Return what events of CloudWatch hold."""
    return [
        Inner(event.message.encode(), event.timestamp * 1_000, event.stream or stream)
        for event in events
    ]


class _Vector(Struct, gc=False):
    message: str
    timestamp: str
    kubernetes: Labels = None
    host: str | None = None


def _vector(record: _Vector) -> Inner:
    stream = labels.stream(record.kubernetes) or record.host or ""
    return Inner(record.message.encode(), record.timestamp, stream)


class _Datadog(Struct, gc=False):
    message: str
    date: str
    host: str | None = None


def _datadog(record: _Datadog) -> Inner:
    return Inner(record.message.encode(), record.date, record.host or "")


def seconds(value: str | float | None) -> At:
    """Return a time that is text, or seconds of the epoch as a number or as text."""
    if isinstance(value, str):
        try:
            return _micros(Decimal(value))
        except (ArithmeticError, ValueError):
            return value
    return None if value is None else _micros(value)


def _micros(value: Decimal | float) -> int | None:
    """Return seconds as microseconds: whole ones where the value is exact, else the nearest."""
    if not abs(float(value)) < _SECONDS:
        return None
    return int(value * 1_000_000) if isinstance(value, Decimal) else round(value * 1_000_000)


_SECONDS = 1 << 40


def nanoseconds(value: str | None) -> int | None:
    """Return nanoseconds of the epoch as microseconds; None where the text is no such number."""
    if value is None or not value.isdecimal() or len(value) > _NANOSECOND_DIGITS:
        return None
    return int(value) // 1_000


_NANOSECOND_DIGITS = 20


@dataclass(frozen=True)
class JsonForm:
    """A wrapper that is one JSON object a line.

    ``weak`` where other logs look alike: it is taken off only if the file is none of those.
    """

    name: str
    title: str
    record: Any
    inner: Callable[[Any], Inner | Partly | Sequence[Inner | None] | str | None]
    weak: bool = False
    opens: bytes = b"{"
    whole: Callable[[Block], Whole | None] = lambda _: None
    sure: Callable[[Inner], bool] = lambda _: True
    """What holds for one line at least, where other programs lay their records out so too."""


FORMS = (
    # Who takes the line ends off, as shippers do, cuts no line up for want of one.
    JsonForm(
        "docker",
        "Docker's json-file",
        _Docker,
        _docker,
        whole=docker_whole,
        sure=lambda one: not one.more,
    ),
    JsonForm("journal", "the journal (journalctl -o json)", _Journal, _journal),
    JsonForm("loki-lines", "logcli -o jsonl", _Logcli, _logcli),
    JsonForm("splunk", "a Splunk export", _Splunk, _splunk),
    JsonForm("splunk-rows", "rows of Splunk, one a line", _Row, splunk_event),
    JsonForm("elastic-hit", "a dump of Elasticsearch", Hit, hit),
    JsonForm("google", "Google Cloud Logging", Google, google),
    JsonForm("cloudwatch", "a CloudWatch subscription", Subscription, subscription),
    JsonForm("stern", "stern -o json", _Stern, _stern),
    JsonForm("azure", "Azure Container Insights", _Azure, _azure),
    JsonForm("fluent", "Fluent Bit", _Fluent, _fluent),
    JsonForm("fluent-pair", "Fluent Bit", _Pair, _fluent_pair, opens=b"["),
    JsonForm("beat", "Filebeat", _Beat, _shipped, weak=True),
    JsonForm("vector", "Vector", _Vector, _vector, weak=True),
    JsonForm("datadog", "an archive of Datadog", _Datadog, _datadog, weak=True),
)
