"""Lines as their processes printed them, wherever in a log a launcher began to name processes.

Most logs have such names from their first line on, which is told there. In others they begin
later, or stand before some lines only: before records they are taken off, as no reader of
records knows them. What Ray says of lines that it held back stands anywhere.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np

from forensics.sources.blocks import Block, Source
from forensics.sources.blocksource import OneBlock
from forensics.sources.jsonlines import split_lines
from forensics.sources.parsed import Parsed, Unread
from forensics.sources.processes import HELD_BACK, MARK, OF_VLLM, PROCESS, Unrepeated, kind

Read = Callable[[Source], Iterable[Parsed]]
IDLE = "line that Ray counted and did not print, of a kind that names no request"
_KINDS = 200
"""Kinds of lines that are told by a look at one."""
_RECORDS = (b') {"', b") Receive: obj=", b") Finish: obj=")
_NAMED = re.compile(
    rb"^(?:" + PROCESS.encode() + rb')+(?=\{"|(?:Receive|Finish): obj=)'
    rb"(?!" + OF_VLLM + rb")"
)


def _may(data: bytes) -> bool:
    """Say whether any line may have something taken off: it costs next to nothing."""
    return MARK in data or any(record in data for record in _RECORDS)


class Printed:
    """A log whose records have no process before them, and no line a count of others.

    Args:
        source: the log.
        read: the reader of its format, which tells what lines like one say.
    """

    def __init__(self, source: Source, read: Read) -> None:
        self._source = source
        self._read = read
        self._unrepeated = Unrepeated()
        self._parsed = Parsed()
        self._tells: dict[bytes, bool] = {}

    @property
    def magic(self) -> bytes:
        """The first bytes."""
        return self._source.magic

    def head(self) -> bytes:
        """Return the beginning; it is read again later."""
        return plain(self._source.head())

    def blocks(self, size: int | None = None) -> Iterator[Block]:
        """Yield blocks of whole lines."""
        for block in self._source.blocks(size):
            yield self._taken(block) if _may(block.data) else block

    def whole(self) -> io.BytesIO:
        """Return all bytes in memory."""
        return self._source.whole()

    def held_back(self) -> Parsed:
        """Return what the lines that Ray held back are counted as."""
        return self._parsed

    def _taken(self, block: Block) -> Block:
        lines = []
        for at, line in enumerate(split_lines(block.data)):
            text, held_back = self._unrepeated(line)
            lines.append(_NAMED.sub(b"", text, count=1))
            if held_back:
                self._count(text, block.number(at), held_back)
        data = b"".join(lines)
        if data == block.data:
            return block
        # Its lines do not stand in the file at the places that their lengths tell.
        numbers = np.array(block.all_numbers(len(lines)), dtype=np.int64)
        return replace(block, data=data, offset=None, numbers=numbers)

    def _count(self, line: bytes, number: int, held_back: int) -> None:
        """Count lines of the kind of one; they cannot be told where that one says anything."""
        self._parsed.read += held_back
        if self._tells_something(line):
            self._parsed.unread += [Unread(number, None, HELD_BACK)] * held_back
        else:
            self._parsed.ignored[IDLE] += held_back

    def _tells_something(self, line: bytes) -> bool:
        """Say whether the log's reader takes something of a line, or cannot read it."""
        alike = kind(line)
        if b"{" in line or not alike or (alike not in self._tells and len(self._tells) >= _KINDS):
            return True  # the words of a record are no kind, and too many are none either
        if alike not in self._tells:
            found = list(self._read(OneBlock(Block(line, 1, None))))
            self._tells[alike] = any(map(_tells, found))
        return self._tells[alike]


def _tells(one: Parsed) -> bool:
    """Say whether there was a request, a pool or a fault; the load alone names none of them."""
    frames = (*one.observations, *one.capacity, *one.markers, *one.traces)
    return bool(one.unread) or any(frame.height for frame in frames)


def plain(head: bytes) -> bytes:
    """Return the beginning of a log as :class:`Printed` has it."""
    if not _may(head):
        return head
    unrepeated = Unrepeated()
    return b"\n".join(_NAMED.sub(b"", unrepeated(line).line) for line in head.split(b"\n"))
