"""Elements of JSON arrays, however the arrays were written to a file.

An answer is one array; collectors write it as it came, over many lines, one array a line,
or its elements one a line. Where the whole is no JSON, each element is read by itself: one that
is spread over lines begins with a brace alone on its line and ends with one as far from the left.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from forensics.sources.blocks import LONGEST_LINE, TOO_LONG, Block, Source
from forensics.sources.documents import fault
from forensics.sources.jsonlines import split_lines
from forensics.sources.parsed import Unread
from forensics.sources.wrappers.objects import BETWEEN, OPEN, one_by_one

_FAULTS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_AROUND = (b"", b"[", b"]")
"""What stands on lines between the elements of an array."""


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
    held: list[Block] = []
    size, each = 0, None
    for block in opened.blocks():
        held.append(block)
        size += len(block.data)
        if each is None and block.reason is None and size <= LONGEST_LINE:
            continue
        each = each or _EachByItself()
        for one in held:
            yield from each.read(one)
        held = []
    yield from _together(held) if each is None else each.rest()


def _together(held: list[Block]) -> Iterator[Element]:
    """Yield the elements of blocks that may be one array."""
    data = b"".join(block.data for block in held)
    if not data.strip():
        return
    whole = _split(data)
    if whole is not None:
        yield from _placed(whole, data, held)
        return
    each = _EachByItself()
    for block in held:
        yield from each.read(block)
    yield from each.rest()


def _split(data: bytes) -> list[bytes] | None:
    """Return the elements of an array, or an object as the only one; None: it is neither."""
    try:
        if data.lstrip()[:1] == b"[":
            return [bytes(raw) for raw in msgspec.json.decode(data, type=list[msgspec.Raw])]
        return [bytes(msgspec.json.decode(data, type=msgspec.Raw)).strip()]
    except _FAULTS:
        return None


class _EachByItself:
    """Elements that stand on a line, or on several, among lines that may be anything."""

    def __init__(self) -> None:
        self._lines: list[bytes] = []
        self._size = 0
        self._indent = b""
        self._at: tuple[int, int | None] = (0, None)
        self._open: tuple[int, int | None] | None = None

    def read(self, block: Block) -> Iterator[Element]:
        if block.reason is not None:
            yield from self.end()
            yield Element(b"", block.line, block.offset, block.reason)
        offset = block.offset if block.numbers is None else None
        for place, text in enumerate(split_lines(block.data)):
            yield from self._line(text, (block.number(place), offset))
            offset = None if offset is None else offset + len(text)

    def end(self) -> Iterator[Element]:
        """Yield what is held: an element, or why it is none."""
        if self._lines:
            data = b" ".join(self._lines)
            reason = TOO_LONG if self._size > LONGEST_LINE else fault(data)
            yield Element(b"" if reason else data, *self._at, reason)
        self._lines, self._size = [], 0

    def rest(self) -> Iterator[Element]:
        """Yield what is held at the end of the file; of an array that goes on, that it does."""
        whole = not self._lines
        yield from self.end()
        if whole and self._open is not None:
            yield Element(b"", *self._open, fault(OPEN))

    def _line(self, text: bytes, at: tuple[int, int | None]) -> Iterator[Element]:
        bare = text.strip().removesuffix(b",")
        indent = text[: len(text) - len(text.lstrip())]
        if bare == b"{" and (not self._lines or indent == self._indent):
            yield from self.end()
            self._indent, self._at = indent, at
            self._add(bare)
        elif self._lines:
            closes = bare == b"}" and indent == self._indent
            self._add(bare if closes else text.strip())
            if closes:
                yield from self.end()
        else:
            yield from self._outside(bare, at)

    def _outside(self, bare: bytes, at: tuple[int, int | None]) -> Iterator[Element]:
        """Yield the elements of a line, and note whether it leaves an array open."""
        if bare.startswith(b"["):
            self._open = at
        if bare.endswith(b"]"):
            self._open = None
        for element in _of_line(bare, at) if bare not in _AROUND else ():
            # What is missing behind a broken element is said with it.
            self._open = None if element.reason else self._open
            yield element

    def _add(self, text: bytes) -> None:
        self._size += len(text)
        # One more entry than may be kept says that it was too long, without the bytes.
        self._lines.append(text if self._size <= LONGEST_LINE else b"")


def _of_line(text: bytes, at: tuple[int, int | None]) -> Iterator[Element]:
    found = _split(text)
    if found is None:
        among = text.startswith(b"[")
        found = list(one_by_one(text[1:], between=BETWEEN)) if among else [text]
    for raw in found:
        reason = fault(raw)
        yield Element(b"" if reason else raw, *at, reason)


def _placed(found: list[bytes], data: bytes, held: list[Block]) -> Iterator[Element]:
    """Yield elements with the line on which each begins."""
    lines = [number for block in held for number in _numbers(block)]
    known = all(block.numbers is None for block in held)
    place, seen = 0, 0
    for raw in found:
        at = data.find(raw, place)
        seen += data.count(b"\n", place, at)
        yield Element(raw, lines[seen], at if known else None)
        seen += raw.count(b"\n")
        place = at + len(raw)


def _numbers(block: Block) -> list[int]:
    """Return the numbers of the lines, the last of which may have no end."""
    count = len(block.ends) + (not block.data.endswith(b"\n"))
    return list(block.all_numbers(count))
