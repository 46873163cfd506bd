"""JSON of any shipper: the line of an engine in a text beside its time and its labels.

Shippers are told apart by settings, not by their names: what they share is that one key holds
the line. It is believed where that text begins as lines of engines do, or as other prefixes.
"""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct, field

from forensics.sources.wrappers import labels
from forensics.sources.wrappers.inner import At, Inner
from forensics.sources.wrappers.jsonforms import JsonForm, seconds
from forensics.sources.wrappers.textforms import STAMPED

_NUMBER = re.compile(r"([0-9]{1,20})(?:\.[0-9]+)?")
_SECONDS_IN = {10: 1, 13: 1_000, 16: 1_000_000, 19: 1_000_000_000}
"""By the digits of a number of the years 2001 to 2286 which part of a second it counts."""


class _Shipped(Struct, gc=False):
    log: Any = None
    message: Any = None
    msg: Any = None
    line: Any = None
    event: Any = None
    time: Any = None
    timestamp: Any = None
    ts: Any = None
    date: Any = None
    stamp: Any = field(name="@timestamp", default=None)
    source: Any = field(name="stream", default=None)
    part: Any = field(name="_p", default=None)
    tag: Any = field(name="logtag", default=None)
    kubernetes: Any = None
    pod: Any = None
    pod_name: Any = None
    host: Any = None
    hostname: Any = None
    container_name: Any = None


def inner(record: _Shipped) -> Inner | None:
    """Return what a record holds; None where no text in it is a line."""
    event = record.event if isinstance(record.event, dict) else {}
    texts = (record.log, record.message, record.msg, record.line, record.event)
    inside = (event.get("message"), event.get("log"), event.get("original"))
    line = next((text for text in (*texts, *inside) if isinstance(text, str)), None)
    if line is None:
        return None
    times = (record.stamp, record.time, record.timestamp, record.ts, record.date)
    at = next((found for one in times if (found := moment(one)) is not None), None)
    cut = "P" in (record.part, record.tag)
    source = record.source if isinstance(record.source, str) else ""
    return Inner(line.encode(), at, _stream(record), cut, source)


def moment(value: Any) -> At:
    """Return a time: a text that says its zone, or a number of the epoch by its digits."""
    if isinstance(value, bool):
        return None
    number = _NUMBER.fullmatch(str(value)) if isinstance(value, int | float | str) else None
    parts = _SECONDS_IN.get(len(number[1])) if number is not None else None
    if number is None or parts is None:
        return value if isinstance(value, str) else None
    return seconds(number[0]) if parts == 1 else int(number[1]) * 1_000_000 // parts


def _stream(record: _Shipped) -> str:
    beside = {
        "pod": record.pod,
        "pod_name": record.pod_name,
        "container_name": record.container_name,
        "host": record.host,
        "hostname": record.hostname,
    }
    inside = record.kubernetes if isinstance(record.kubernetes, dict) else {}
    pod = inside.get("pod")
    named = pod.get("name") if isinstance(pod, dict) else None
    return labels.stream({"pod": named}) or labels.stream(inside) or labels.stream(beside)


FORM = JsonForm(
    "shipped",
    "a shipper's JSON",
    _Shipped,
    inner,
    weak=True,
    sure=lambda one: STAMPED.match(one.line) is not None,
)
