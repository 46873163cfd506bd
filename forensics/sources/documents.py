"""Whole JSON documents of a file: one a line, or spread over lines as tools print them.

A document that is spread out begins with ``{`` and ends with ``}`` at the start of a
line. A document that is cut short ends where the next one begins, so that a damaged
one takes no other with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from forensics.sources.blocks import LONGEST_LINE, TOO_LONG, Source
from forensics.sources.isjson import is_json
from forensics.sources.jsonlines import split_lines
from forensics.sources.parsed import Unread


@dataclass(frozen=True)
class Document:
    """Bytes of one document on one line, and where its first line stands.

    ``reason`` is set where it was longer than can be held; the bytes are then empty.
    """

    data: bytes
    line: int
    offset: int | None
    reason: str | None = None

    def unread(self, reason: str) -> Unread:
        """Return the ledger's entry for this document."""
        return Unread(self.line, self.offset, reason)


def documents(opened: Source) -> Iterator[Document]:
    """Yield the documents of a file; a line that belongs to none is yielded by itself."""
    held = _Held()
    for block in opened.blocks():
        if block.reason is not None:
            yield from held.end()
            yield Document(b"", block.line, block.offset, block.reason)
            continue
        offset = block.offset if block.numbers is None else None
        for place, text in enumerate(split_lines(block.data)):
            line = block.number(place)
            if text.startswith(b"{"):
                yield from held.end()
            if held or (text.startswith(b"{") and not is_json(text)):
                held.add(text, line, offset)
            elif text.strip():
                yield Document(text.strip(), line, offset)
            if text.startswith(b"}"):
                yield from held.end()
            offset = None if offset is None else offset + len(text)
    yield from held.end()


def fault(data: bytes) -> str | None:
    """Return in words of our own why a document is no JSON, or None: it is some."""
    try:
        data.decode("utf-8")
        msgspec.json.decode(data, type=msgspec.Raw)
    except UnicodeDecodeError:
        return "invalid UTF-8"
    except RecursionError:
        return "nested too deeply"
    except msgspec.DecodeError as error:
        return "truncated JSON" if "truncated" in str(error) else "not valid JSON"
    return None


class _Held:
    """Lines of a document that is not at its end yet."""

    def __init__(self) -> None:
        self._lines: list[bytes] = []
        self._size = 0
        self._at: tuple[int, int | None] = (0, None)

    def __bool__(self) -> bool:
        return bool(self._lines)

    def add(self, text: bytes, line: int, offset: int | None) -> None:
        if not self._lines:
            self._at = (line, offset)
        self._size += len(text)
        # One more entry than may be kept says that it was too long, without the bytes.
        self._lines.append(text.strip() if self._size <= LONGEST_LINE else b"")

    def end(self) -> Iterator[Document]:
        """Yield what is held, as one line: valid JSON has no line end inside a text."""
        if self._lines:
            reason = TOO_LONG if self._size > LONGEST_LINE else None
            data = b"" if reason else b" ".join(self._lines)
            yield Document(data, *self._at, reason)
        self._lines, self._size = [], 0
