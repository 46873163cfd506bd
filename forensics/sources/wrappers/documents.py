"""Wrappers that are JSON documents: answers of a log store to a query, one for each page."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import Struct, field

from forensics.sources.wrappers import jsonforms, labels
from forensics.sources.wrappers.everything import LARGEST, Everything
from forensics.sources.wrappers.inner import Inner, Inners
from forensics.sources.wrappers.objects import one_by_one

_LOKI_LIMITS = (100, 1_000, 5_000)
_ELASTIC_LIMIT = 10_000
CUT = "as many entries as one query returns: it may have been cut"


class Stream(Struct):
    """Lines of one stream of Loki, each with its time."""

    labels: dict[str, str] = field(name="stream")
    values: list[list[Any]]


class _LokiData(Struct):
    kind: str = field(name="resultType")
    result: list[Stream]


class _Loki(Struct):
    data: _LokiData


def _loki(document: _Loki) -> list[Inner]:
    return stream_lines(document.data.result)


def stream_lines(streams: Sequence[Stream]) -> list[Inner]:
    """Return the entries, the oldest first: a query answers from the newest by default."""
    found = []
    for stream in streams:
        name = labels.stream(stream.labels)
        entries = [
            (int(value[0]), Inner(value[1].encode(), int(value[0]) // 1_000, name))
            for value in stream.values
        ]
        if entries and entries[0][0] > entries[-1][0]:
            entries.reverse()
        found += [inner for _, inner in sorted(entries, key=lambda entry: entry[0])]
    return found


def _loki_is_cut(_: _Loki, last: int, count: int) -> bool:  # noqa: ARG001
    return last in _LOKI_LIMITS


class _Hits(Struct):
    hits: list[jsonforms.Hit]
    total: Any = None

    @property
    def there(self) -> int:
        """How many there are in the store, as far as the answer says."""
        total = self.total.get("value") if isinstance(self.total, dict) else self.total
        return total if isinstance(total, int) else 0


class _Search(Struct):
    """An answer, or several of them, as ``_msearch`` and Kibana give them."""

    hits: _Hits | None = None
    responses: list[_Search] = field(default_factory=list)
    inside: _Search | None = field(name="rawResponse", default=None)

    @property
    def all(self) -> list[_Hits]:
        """The hits of all answers."""
        found = [self.hits] if self.hits is not None else []
        inside = [] if self.inside is None else [self.inside]
        return found + [hits for one in (*self.responses, *inside) for hits in one.all]


def _search(document: _Search) -> list[Inner | None]:
    return [jsonforms.hit(hit) for hits in document.all for hit in hits.hits]


def _search_is_cut(document: _Search, last: int, count: int) -> bool:  # noqa: ARG001
    there = sum(hits.there for hits in document.all)
    return any(len(hits.hits) == _ELASTIC_LIMIT for hits in document.all) or count < there


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


def _never(_: Any, last: int, count: int) -> bool:  # noqa: ARG001
    return False


@dataclass(frozen=True)
class DocumentForm:
    """A wrapper that is one JSON document, or several; ``words`` all stand near its beginning.

    Each entry of one has the key ``each``. ``is_cut`` says by the last page, the entries in
    it and those in all whether there are more.
    """

    name: str
    title: str
    type: Any
    inners: Callable[[Any], Sequence[Inner | None]]
    words: tuple[bytes, ...]
    opens: bytes = b"{"
    is_cut: Callable[[Any, int, int], bool] = _never
    each: bytes = b""

    def decoded(self, data: bytes) -> Any:
        """Return a page, or None where it is none in this form."""
        try:
            return msgspec.json.decode(data, type=self.type)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError):
            return None

    def entries(self, page: Any) -> Sequence[Inner | None] | None:
        """Return what a page holds, or None where an entry is in no known form."""
        try:
            return self.inners(page)
        except (IndexError, AttributeError, TypeError, ArithmeticError, ValueError):
            return None


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
        each=b'"_source"',
    ),
    DocumentForm(
        "elastic-fields",
        "an answer of Elasticsearch in fields",
        _Search,
        _search,
        (b'"hits"', b'"fields"'),
        is_cut=_search_is_cut,
        each=b'"fields"',
    ),
    DocumentForm(
        "splunk-results",
        "an answer of Splunk",
        _Results,
        _results,
        (b'"results"', b'"_raw"'),
        each=b'"_raw"',
    ),
    DocumentForm(
        "cloudwatch-events",
        "an answer of CloudWatch",
        _Events,
        _events,
        (b'"events"', b'"message"', b'"timestamp"'),
        each=b'"message"',
    ),
    DocumentForm(
        "grafana-json",
        "a download of Grafana Explore",
        list[_Explored],
        _explored,
        (b'"line"', b'"timestamp"'),
        b"[",
        each=b'"line"',
    ),
    DocumentForm(
        "google-list",
        "a list of Google Cloud Logging",
        list[jsonforms.Google],
        _google,
        (b'"insertId"', b'"timestamp"'),
        b"[",
        each=b'"insertId"',
    ),
)


_PAGE = re.compile(r"\n[{\[]")
"""Begin of a page behind one that breaks off; what is indented is a part of one."""


class WholeDocument(Everything):
    """Takes the document apart once all of it is there; entries are numbered from 1.

    Where pages of one answer were put together, theirs are numbered on.
    """

    def __init__(self, form: DocumentForm) -> None:
        super().__init__()
        self._form = form
        self._number = 0

    def end(self) -> Inners:
        """Return what the document holds."""
        found, data = Inners(), self._all()
        if data is None:
            found.refuse(None, f"JSON document longer than {LARGEST >> 20} MiB")
            return found
        pages = [data] if self._form.decoded(data) is not None else one_by_one(data, begins=_PAGE)
        last: tuple[Any, int] | None = None
        for text in pages:
            page = self._form.decoded(text)
            entries = None if page is None else self._form.entries(page)
            last = None if entries is None else (page, len(entries))
            self._page(text, entries, found)
        if last is not None and self._form.is_cut(*last, self._number):
            found.notes[CUT] += 1
        return found

    def _page(self, text: bytes, entries: Sequence[Inner | None] | None, found: Inners) -> None:
        """Add the entries of a page; of one that cannot be read, as many as it seems to have."""
        if entries is None:
            lost = text.count(self._form.each) if self._form.each else 1
            for _ in range(max(1, lost)):
                found.refuse(None, f"not {self._form.title} in a known form, or cut short")
        for inner in entries or ():
            self._number += 1
            if inner is None:
                found.refuse(self._number, f"entry of {self._form.title} without a line")
            else:
                found.add(inner, self._number)
