"""The files of a packet as their readers see them: texts without escapes or names of fields."""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from forensics import declared
from forensics.notices.fixed import FACTS
from forensics.notices.markdown import held, released
from forensics.notices.plaintext import without_emphasis, without_links, without_tags

_COLUMNS = tuple(declared.NOTICE_REQUESTS.dtypes)
_ENDS = re.compile(r"[\0\n|]|: ")
_TAG = re.compile(r"<[^>]*>")
_APART = "\0"
"""Between fields, so that no phrase goes on from one to the next."""


@dataclass(frozen=True)
class AsRead:
    """What a file says, and the request ids that it lists."""

    text: str
    requests: frozenset[str] = frozenset()
    parts: str = ""
    """The same with a mark between cells, elements and values; of what is no table of values."""

    def fields(self) -> set[str]:
        """Return what stands alone in a cell, an element or a value."""
        return {piece.strip() for piece in _ENDS.split(self.parts or self.text)}


def as_read(name: str, data: bytes) -> AsRead:
    """Return a file as its reader sees it.

    Raises:
        ValueError: it is not in the form that files of this name have.
    """
    text = data.decode("utf-8", "surrogateescape")
    if name == "requests.csv":
        return _table(text)
    if name == "requests.jsonl":
        return _records([msgspec.json.decode(line) for line in text.splitlines()])
    if name.endswith(".json"):
        return AsRead(_APART.join(_values(msgspec.json.decode(text))))
    return _markdown(text) if name.endswith(".md") else _html(text)


def _html(text: str) -> AsRead:
    # An id can be split by tags, and stand in one.
    read = (html.unescape(text), without_tags(text))
    return AsRead(_APART.join(read), parts=html.unescape(_TAG.sub(_APART, text)))


def _markdown(text: str) -> AsRead:
    """Return it without the signs that act; those that are escaped are read as they are."""
    source = held(text)
    bare = without_tags(source)
    # Emphasis can split one as well, and so can a link.
    plain = without_emphasis(without_links(bare))
    read = (html.unescape(source), bare, without_emphasis(bare), plain, plain.replace("_", ""))
    return AsRead(_APART.join(map(released, read)), parts=released(bare))


def _table(text: str) -> AsRead:
    header, *rows = csv.reader(io.StringIO(text))
    at = header.index("request_id")
    cells = [cell for row in rows for cell in row]
    cells += [name for name in header if name not in _COLUMNS]
    return AsRead(_APART.join(cells), frozenset(row[at] for row in rows if row[at]))


def _records(rows: list[dict[str, Any]]) -> AsRead:
    listed = frozenset(row["request_id"] for row in rows if row["request_id"] is not None)
    return AsRead(_APART.join(_values(rows)), listed)


def _values(value: Any) -> Iterator[str]:
    """Yield all texts and numbers, and the names of fields that are not the package's."""
    if isinstance(value, dict):
        yield from (name for name in value if name not in FACTS and name not in _COLUMNS)
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _values(item)
    elif isinstance(value, str | int | float):
        yield str(value)
