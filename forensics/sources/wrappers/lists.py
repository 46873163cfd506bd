"""Answers of an API, or batches of a stream: a document with the records in a list under one key.

What stands beside the list (how many there are, where the next page begins) is of no use; several
documents, one behind the other, are pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec
from msgspec import Raw

from forensics.sources.wrappers.everything import LARGEST, Everything
from forensics.sources.wrappers.inner import Inner, Inners
from forensics.sources.wrappers.objects import entries, one_by_one

_KEYS = ("data", "records", "value", "items", "logs", "rows", "entries", "observations")
_NEAR = 64 << 10
_BEGINS = re.compile(
    rb'\s*\{(?:\s*"[^"\\]{1,64}"\s*:\s*(?:"[^"\\]{0,400}"|[\w.+-]{1,40}|\{[^{}]{0,400}\})\s*,)*'
    rb'\s*"(?:' + "|".join(_KEYS).encode() + rb')"\s*:\s*\[\s*\{'
)
_PAGE = re.compile(r"\n\{")
_FAULTS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def told(head: bytes) -> bool:
    """Say whether a file begins as such a document."""
    return _BEGINS.match(head[:_NEAR]) is not None


class Listed(Everything):
    """Takes the list out once all of it is there; its records are numbered from 1."""

    def end(self) -> Inners:
        """Return one line for each record; a document that is none is unreadable."""
        found, data = Inners(), self._all()
        if data is None:
            found.refuse(None, f"JSON document longer than {LARGEST >> 20} MiB")
            return found
        number = 0
        for page in one_by_one(data, begins=_PAGE):
            records = _records(page)
            if records is None:
                found.refuse(None, "document with no list of records, or cut short")
            for record in records or ():
                number += 1
                if record.startswith(b"{"):
                    found.add(Inner(record.replace(b"\r", b" ").replace(b"\n", b" ")), number)
                else:
                    found.refuse(number, "not a JSON object")
        return found


def _records(page: bytes) -> Iterator[bytes] | None:
    try:
        document = msgspec.json.decode(page, type=dict[str, Raw])
    except _FAULTS:
        return None
    lists = (bytes(document[key]) for key in _KEYS if key in document)
    held = next((text for text in lists if text.startswith(b"[")), None)
    return None if held is None else entries(held)
