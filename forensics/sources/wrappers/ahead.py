"""Lines of something else that stand ahead of a file's own: what a tool printed first.

``curl -i`` prints the head of an answer, a shell the command, an export who made it. They are
no records, and what is behind them is read; each of them is unreadable, since it may have been one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from forensics.sources.blocks import Block
from forensics.sources.jsonlines import split_lines
from forensics.sources.wrappers.inner import Inner, Inners, Whole
from forensics.sources.wrappers.kinds import Wrapper

AHEAD = "line ahead of the records"
_NEAR = 64 << 10
_LINES = 20
_ANY = 5
"""So many of the first lines may stand ahead of a table, whose header begins with anything."""
_OPENS = re.compile(rb"[\[{]")


def starts(head: bytes) -> Iterator[int]:
    """Yield how many first lines of a file may stand ahead of its own, the fewest first."""
    lines = head[:_NEAR].split(b"\n")[: _LINES + 1]
    for count, line in enumerate(lines):
        if 0 < count <= _ANY or (count and _OPENS.match(line)):
            yield count


def rest(head: bytes, count: int) -> bytes:
    """Return what is behind some first lines."""
    return head.split(b"\n", count)[-1]


def wrapper(count: int) -> Wrapper:
    """Return what takes so many first lines off."""
    return Wrapper(
        "ahead", "lines of something else", lambda _head, _names: False, lambda _: _Ahead(count)
    )


class _Ahead:
    """Hands on all lines but the first."""

    def __init__(self, count: int) -> None:
        self._left = count

    def whole(self, block: Block) -> Whole | None:
        """Return a block as it is once the first lines are over."""
        return None if self._left or block.reason is not None else Whole(block)

    def take(self, block: Block) -> Inners:
        """Return the lines of a block that are not ahead."""
        found = Inners()
        if block.reason is not None:
            self._left -= bool(self._left)
            found.refuse(block.line, block.reason)
            return found
        for at, line in enumerate(split_lines(block.data)):
            if not self._left:
                found.add(Inner(line.rstrip(b"\r\n")), block.number(at))
                continue
            self._left -= 1
            if line.strip():
                found.refuse(block.number(at), AHEAD)
            else:
                found.ignore("blank line")
        return found

    def end(self) -> Inners:
        """Return nothing: no line waits."""
        return Inners()
