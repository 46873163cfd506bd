"""What a line is: where a carriage return ends one, and where it is a blank within a record.

A line ends with a line feed; a carriage return before it belongs to that end. One by itself
ends a line too: progress bars return to the begin of theirs, and what is printed next is a line
of its own; old tools end all lines so. But where all up to the next line feed is one JSON value,
whatever prefix stands before it, it is white space within that, which is one record: no text
within JSON has one as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from forensics.sources.isjson import is_json
from forensics.sources.packing import DamagedStreamError

LONGEST = 1 << 20
"""Bytes of a record within which a carriage return is white space: so much is held."""
_ALONE = re.compile(rb"\r(?!\n)")
_OPENS = re.compile(rb'\{\s*["}]|\[\s*[\[{"]')
"""Begin of a record, or of a list of them; a line of an engine begins with a time in a bracket."""
_FEED = 10


def with_line_feeds(text: bytes) -> bytes:
    """Return text with a line feed for each carriage return that ends a line by itself.

    One within a JSON value becomes a blank. No byte moves.
    """
    return _Lines().take(text, last=True)


def ended(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the same stream with line ends as :func:`with_line_feeds` puts them.

    What came before the stream breaks off is yielded before the error is passed on.
    """
    lines = _Lines()
    try:
        for chunk in chunks:
            yield lines.take(chunk)
    except (DamagedStreamError, OSError):
        yield lines.take(b"", last=True)
        raise
    yield lines.take(b"", last=True)


class _Lines:
    """Tells where lines end, and holds back what the bytes to come decide."""

    def __init__(self) -> None:
        self._line = b""
        """Begin of the line that goes on, as far as it was handed on and may be a record."""
        self._held = b""

    def take(self, chunk: bytes, *, last: bool = False) -> bytes:
        """Return the bytes that are decided with a further chunk: all, with the ``last``."""
        text, self._held = self._held + chunk if self._held else chunk, b""
        if b"\r" in text and text.count(b"\r") != text.count(b"\r\n"):
            text = self._decided(text, last=last)
        cut = text.rfind(b"\n") + 1
        if cut or len(self._line) <= LONGEST:
            self._line = text[cut:] if cut else self._line + text
        return text

    def _decided(self, text: bytes, *, last: bool) -> bytes:
        data, begin, at = bytearray(self._line + text), 0, len(self._line)
        while found := _ALONE.search(data, at):
            at = found.start()
            begin = data.rfind(b"\n", begin, at) + 1 or begin
            end = data.find(b"\n", at)
            end_seen = last or end >= 0 or len(data) - begin > LONGEST
            next_seen = last or at + 1 < len(data)
            end = len(data) if end < 0 else end
            if not next_seen or not (end_seen or _ends(data, begin, at)):
                self._held = bytes(data[at:])
                del data[at:]
                break
            if not _ends(data, begin, at) and _is_record(data, begin, end):
                data[at:end] = data[at:end].replace(b"\r", b" ")
                at = end
            else:
                data[at] = _FEED
        return bytes(data[len(self._line) :])


def _ends(data: bytearray, begin: int, at: int) -> bool:
    """Say whether a line ends there, whatever follows: it is none of a record, or a whole one."""
    return not _OPENS.search(data, begin, at) or _is_record(data, begin, at)


def _is_record(data: bytearray, begin: int, end: int) -> bool:
    value = _OPENS.search(data, begin, end) if end - begin <= LONGEST else None
    if value is None:
        return False
    with memoryview(data) as view:
        return is_json(view[value.start() : end])
