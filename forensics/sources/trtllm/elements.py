"""Elements of JSON arrays, however the arrays were written to a file.

An answer is one array; collectors write it as it came, over many lines, one array a line,
or its elements one a line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from forensics.sources.blocks import LONGEST_LINE, Source
from forensics.sources.documents import fault
from forensics.sources.jsonlines import split_lines
from forensics.sources.parsed import Unread

_FAULTS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


@dataclass(frozen=True)
class Element:
    """Bytes of one element, and where it begins; ``reason``: why there are none."""

    data: bytes
    line: int
    offset: int | None
    reason: str | None = None

    def unread(self, reason: str) -> Unread:
        """Return the ledger's entry for this element."""
        return Unread(self.line, self.offset, reason)


def elements(opened: Source) -> Iterator[Element]:
    """Yield the elements of a file; what is no JSON is yielded with the reason."""
    held: list[bytes] = []
    lines: list[int] = []
    size, whole_file = 0, True
    for block in opened.blocks():
        if block.reason is not None:
            yield Element(b"", block.line, block.offset, block.reason)
            whole_file = False
            continue
        whole_file = whole_file and block.numbers is None
        held.append(block.data)
        lines += block.all_numbers(len(block.ends) + 1)[: _count(block.data)]
        size += len(block.data)
        if size > LONGEST_LINE:
            yield from _by_line(b"".join(held), lines, known=whole_file)
            held, lines, size, whole_file = [], [], 0, False
    data = b"".join(held)
    if not data.strip():
        return
    whole = _split(data)
    if whole is None:
        yield from _by_line(data, lines, known=whole_file)
    else:
        yield from _placed(whole, data, lines, known=whole_file)


def _count(data: bytes) -> int:
    """Return the number of lines, the last of which may have no end."""
    return data.count(b"\n") + (not data.endswith(b"\n"))


def _split(data: bytes) -> list[bytes] | None:
    """Return the elements of an array, or an object as the only one; None: it is neither."""
    try:
        if data.lstrip()[:1] == b"[":
            return [bytes(raw) for raw in msgspec.json.decode(data, type=list[msgspec.Raw])]
        return [bytes(msgspec.json.decode(data, type=msgspec.Raw)).strip()]
    except _FAULTS:
        return None


def _by_line(data: bytes, lines: list[int], *, known: bool) -> Iterator[Element]:
    """Yield the elements of each line; where ``known``, the bytes are those of the file."""
    offset = 0
    for place, text in enumerate(split_lines(data)):
        found = _split(text) if text.strip() else []
        if found is None:
            reason = fault(text.strip()) or "not a list of records"
            yield Element(b"", lines[place], offset if known else None, reason)
        else:
            for raw in found:
                yield Element(raw, lines[place], offset if known else None)
        offset += len(text)


def _placed(found: list[bytes], data: bytes, lines: list[int], *, known: bool) -> Iterator[Element]:
    """Yield elements with the line on which each begins."""
    place, seen = 0, 0
    for raw in found:
        at = data.find(raw, place)
        seen += data.count(b"\n", place, at)
        yield Element(raw, lines[seen], at if known else None)
        seen += raw.count(b"\n")
        place = at + len(raw)
