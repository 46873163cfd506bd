"""Wrappers that are one JSON document: the answer of a log store to one query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import Struct, field

from forensics.sources.wrappers import jsonforms, labels
from forensics.sources.wrappers.everything import LARGEST, Everything
from forensics.sources.wrappers.inner import Inner, Inners

_LOKI_LIMITS = (100, 1_000, 5_000)
_ELASTIC_LIMIT = 10_000
CUT = "as many entries as one query returns: it may have been cut"


class _Stream(Struct):
    labels: dict[str, str] = field(name="stream")
    values: list[list[Any]]


class _LokiData(Struct):
    kind: str = field(name="resultType")
    result: list[_Stream]


class _Loki(Struct):
    data: _LokiData


def _loki(document: _Loki) -> list[Inner]:
    """Return the entries, the oldest first: a query answers from the newest by default."""
    found = []
    for stream in document.data.result:
        name = labels.stream(stream.labels)
        entries = [
            (int(value[0]), Inner(value[1].encode(), int(value[0]) // 1_000, name))
            for value in stream.values
        ]
        if entries and entries[0][0] > entries[-1][0]:
            entries.reverse()
        found += [inner for _, inner in sorted(entries, key=lambda entry: entry[0])]
    return found


def _loki_is_cut(_: _Loki, count: int) -> bool:
    return count in _LOKI_LIMITS


class _Hits(Struct):
    hits: list[jsonforms.Hit]
    total: Any = None

    @property
    def there(self) -> int:
        """How many there are in the store, as far as the answer says."""
        total = self.total.get("value") if isinstance(self.total, dict) else self.total
        return total if isinstance(total, int) else 0


class _Search(Struct):
    hits: _Hits


def _search(document: _Search) -> list[Inner | None]:
    return [jsonforms.hit(hit) for hit in document.hits.hits]


def _search_is_cut(document: _Search, count: int) -> bool:
    return count == _ELASTIC_LIMIT or count < document.hits.there


class _Results(Struct):
    results: list[jsonforms._Event]


def _results(document: _Results) -> list[Inner]:
    return [jsonforms.splunk_event(event) for event in document.results]


class _Events(Struct):
    events: list[jsonforms._CloudEvent]


def _events(document: _Events) -> list[Inner]:
    return jsonforms.cloud(document.events)


class _Explored(Struct):
    line: str
    timestamp: str
    fields: dict[str, Any] | None = None


def _explored(document: list[_Explored]) -> list[Inner]:
    return [
        Inner(
            entry.line.encode(),
            jsonforms.nanoseconds(entry.timestamp),
            labels.stream(entry.fields),
        )
        for entry in document
    ]


def _google(document: list[jsonforms.Google]) -> list[Inner | None]:
    return [jsonforms.google(entry) for entry in document]


def _never(_: Any, count: int) -> bool:  # noqa: ARG001
    return False


@dataclass(frozen=True)
class DocumentForm:
    """A wrapper that is one JSON document; ``words`` all stand near its beginning."""

    name: str
    title: str
    type: Any
    inners: Callable[[Any], Sequence[Inner | None]]
    words: tuple[bytes, ...]
    opens: bytes = b"{"
    is_cut: Callable[[Any, int], bool] = _never


FORMS = (
    DocumentForm(
        "loki",
        "an answer of Loki",
        _Loki,
        _loki,
        (b'"resultType"', b'"streams"', b'"values"'),
        is_cut=_loki_is_cut,
    ),
    DocumentForm(
        "elastic",
        "an answer of Elasticsearch",
        _Search,
        _search,
        (b'"hits"', b'"_source"'),
        is_cut=_search_is_cut,
    ),
    DocumentForm(
        "splunk-results", "an answer of Splunk", _Results, _results, (b'"results"', b'"_raw"')
    ),
    DocumentForm(
        "cloudwatch-events",
        "an answer of CloudWatch",
        _Events,
        _events,
        (b'"events"', b'"message"', b'"timestamp"'),
    ),
    DocumentForm(
        "grafana-json",
        "a download of Grafana Explore",
        list[_Explored],
        _explored,
        (b'"line"', b'"timestamp"'),
        b"[",
    ),
    DocumentForm(
        "google-list",
        "a list of Google Cloud Logging",
        list[jsonforms.Google],
        _google,
        (b'"insertId"', b'"timestamp"'),
        b"[",
    ),
)


class WholeDocument(Everything):
    """Takes the document apart once all of it is there; entries are numbered from 1."""

    def __init__(self, form: DocumentForm) -> None:
        super().__init__()
        self._form = form

    def end(self) -> Inners:
        """Return what the document holds."""
        found, data = Inners(), self._all()
        if data is None:
            found.refuse(None, f"JSON document longer than {LARGEST >> 20} MiB")
            return found
        try:
            document = msgspec.json.decode(data, type=self._form.type)
            inners = self._form.inners(document)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError):
            inners = None
        except (IndexError, AttributeError, TypeError, ArithmeticError):
            inners = None
        if inners is None:
            found.refuse(None, f"not {self._form.title} in a known form, or cut short")
            return found
        for number, inner in enumerate(inners, start=1):
            if inner is None:
                found.refuse(number, f"entry of {self._form.title} without a line")
            else:
                found.add(inner, number)
        if self._form.is_cut(document, len(inners)):
            found.notes[CUT] += 1
        return found
