"""What a wrapper held: the inner lines of some records, and what became of the others."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from forensics.sources.blocks import Block
from forensics.sources.parsed import Reasons, Unread
from forensics.sources.returns import with_line_feeds

At = str | int | None
"""When the wrapper was written: RFC 3339, or microseconds of UTC, or not known."""

PART = "part of a longer line"
"""Counts the pieces of a line but its last one, which stands for all of them."""


FURTHER = "further lines of one record"
"""Counts records of which only the first line is read: what follows is no record of its own."""
BELOW = "further line of a record, below its first one"
"""Counts such lines, where a tool prints them by themselves."""


class Inner(NamedTuple):
    """One line as it was before it was wrapped.

    ``stream`` names the pod or host that wrote it. ``more`` says that it goes on in the next
    record of the same ``source``.
    """

    line: bytes
    at: At = None
    stream: str = ""
    more: bool = False
    source: str = ""


class Partly(NamedTuple):
    """A record of which ``lost`` values cannot be read, and the line that is left if there is one.

    Values of one record have one number, by which lines are told apart: only one can be a line.
    """

    inner: Inner | None
    lost: int
    reason: str


@dataclass
class Inners:
    """Inner lines with the numbers of their records, and the records that gave none.

    ``read`` counts the records that gave none; each is in ``ignored`` or in ``unread``.
    """

    found: list[Inner] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    read: int = 0
    ignored: Reasons = field(default_factory=Counter)
    unread: list[Unread] = field(default_factory=list)
    notes: Reasons = field(default_factory=Counter)

    def add(self, inner: Inner, number: int) -> None:
        """Take one inner line."""
        self.found.append(inner)
        self.numbers.append(number)

    def print_over(self) -> None:
        """Leave of each line what stands behind its last carriage return, and count the rest.

        A record stands behind a progress bar; what was printed over may have been one as well.
        """
        for at, (inner, number) in enumerate(zip(self.found, self.numbers, strict=True)):
            *over, last = _parts(inner.line) if b"\r" in inner.line else [inner.line]
            for part in over:
                if _MAY.search(part):
                    self.refuse(number, "record that another line was printed over")
                else:
                    self.ignore("line that another one was printed over")
            if over:
                self.found[at] = inner._replace(line=last)

    def refuse(self, number: int | None, reason: str) -> None:
        """Count a record that is unreadable."""
        self.read += 1
        self.unread.append(Unread(number, None, reason))

    def ignore(self, kind: str) -> None:
        """Count a record that is no line of a log."""
        self.read += 1
        self.ignored[kind] += 1


_MAY = re.compile(rb"(?<![\d:<[])\d\d:\d\d:\d\d|\[TensorRT-LLM\]|\{|\w=")
"""What records hold, and no progress bar: that has its times in brackets, ``[00:12<01:02:03]``."""


def _parts(line: bytes) -> list[bytes]:
    """Return the lines of a record's first line, which carriage returns part."""
    first, feed, rest = line.rstrip(b"\r\n").partition(b"\n")
    first = first.removesuffix(b"\r") if feed else first
    *over, last = list(filter(None, with_line_feeds(first).split(b"\n"))) or [first]
    return [*over, last + feed + rest]


class Whole(NamedTuple):
    """The inner lines of a block, and how many records were a part of a longer line."""

    block: Block
    parts: int = 0


class Unwrapping(Protocol):
    """Takes one kind of wrapper off the lines of one file."""

    def whole(self, block: Block) -> Whole | None:
        """Return the inner lines of a block at once, or None where records must be looked at."""

    def take(self, block: Block) -> Inners:
        """Return what the records of a block hold."""

    def end(self) -> Inners:
        """Return what is left when the file is at its end."""
