"""A few lines as a source of their own, and blocks that are read line by line."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator

from forensics.sources.blocks import Block, Source
from forensics.sources.parsed import Parsed, Unread


class OneBlock:
    """One block as a source."""

    def __init__(self, block: Block) -> None:
        self._block = block

    @property
    def magic(self) -> bytes:
        """The first bytes."""
        return self._block.data[:8]

    def head(self) -> bytes:
        """Return all bytes."""
        return self._block.data

    def whole(self) -> io.BytesIO:
        """Return all bytes in memory."""
        return io.BytesIO(self._block.data)

    def blocks(self, size: int | None = None) -> Iterator[Block]:  # noqa: ARG002
        """Yield the block."""
        yield self._block


def each_block(opened: Source, take: Callable[[Block, Parsed], None]) -> Iterator[Parsed]:
    """Yield what each block holds; a line that could not be held in memory is unreadable."""
    for block in opened.blocks():
        parsed = Parsed()
        if block.reason is not None:
            parsed.read = 1
            parsed.unread.append(Unread(block.line, block.offset, block.reason))
        else:
            take(block, parsed)
        yield parsed


def lines_of(block: Block) -> list[bytes]:
    """Return the lines of a block, the last of which may have no end."""
    return block.data.removesuffix(b"\n").split(b"\n")
