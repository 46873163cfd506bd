"""Wrappers that put each line of an engine into one line of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from forensics.sources.blocks import LONGEST_LINE, TOO_LONG, Block
from forensics.sources.jsonlines import split_lines
from forensics.sources.wrappers.inner import BELOW, FURTHER, PART, Inner, Inners, Partly, Whole

Taken = Inner | Partly | Sequence[Inner | None] | str | None
Parse = Callable[[bytes], Taken]
"""A record to what it holds, to the kind of record that holds nothing, or None: it is none."""
AtOnce = Callable[[Block], Whole | None]


class LineByLine:
    """Takes a wrapper off line by line, and puts lines together that it had cut.

    Args:
        parse: takes one record apart.
        title: names the wrapper in the ledger.
        whole: takes all records of a block apart at once, where that can be done.
    """

    def __init__(self, parse: Parse, title: str, whole: AtOnce = lambda _: None) -> None:
        self._parse = parse
        self._title = title
        self._whole = whole
        self._cut: dict[tuple[str, str], _Cut] = {}
        self._entries = 0
        self._below = False

    def whole(self, block: Block) -> Whole | None:
        """Return the inner lines of a block where none of them goes on in another block."""
        return None if self._cut or block.reason is not None else self._whole(block)

    def take(self, block: Block) -> Inners:
        """Return what the records of a block hold."""
        found = Inners()
        if block.reason is not None:
            found.refuse(block.line, block.reason)
            return found
        for at, line in enumerate(split_lines(block.data)):
            self._record(line.rstrip(b"\r\n"), block.number(at), found)
        return found

    def end(self) -> Inners:
        """Return what is left: lines whose last part is missing cannot be told from whole ones."""
        found = Inners()
        for _, cut in sorted(self._cut.items()):
            found.read += cut.parts - 1
            found.ignored[PART] += cut.parts - 1
            found.refuse(cut.begun, "line whose last part is missing")
        self._cut = {}
        return found

    def _record(self, line: bytes, number: int, found: Inners) -> None:
        if not line.strip():
            found.ignore("blank line")
            return
        taken = self._parse(line)
        self._note(found, below=taken == BELOW)
        if taken is None:
            found.refuse(number, f"not a line of {self._title}")
        elif isinstance(taken, str):
            found.ignore(taken)
        elif isinstance(taken, Inner):
            self._inner(taken, number, found)
        elif isinstance(taken, Partly):
            for _ in range(taken.lost):
                found.refuse(number, taken.reason)
            if taken.inner is not None:
                self._inner(taken.inner, number, found)
        else:
            for inner in taken:
                # Several lines of one record: numbers must tell them apart.
                self._entries += 1
                if inner is None:
                    found.refuse(self._entries, f"entry of {self._title} without a line")
                else:
                    self._inner(inner, self._entries, found)

    def _note(self, found: Inners, *, below: bool) -> None:
        """Note a record with further lines, once for all of them."""
        if below and not self._below:
            found.notes[FURTHER] += 1
        self._below = below

    def _inner(self, inner: Inner, number: int, found: Inners) -> None:
        key = (inner.stream, inner.source)
        if inner.more:
            self._cut.setdefault(key, _Cut(number)).add(inner.line)
            return
        cut = self._cut.pop(key, None)
        if cut is None:
            found.add(inner, number)
            return
        found.read += cut.parts
        found.ignored[PART] += cut.parts
        cut.add(inner.line)
        if cut.size > LONGEST_LINE:
            found.refuse(number, TOO_LONG)
        else:
            found.add(inner._replace(line=b"".join(cut.held)), number)


@dataclass
class _Cut:
    """The parts of one line so far, and the record that the first one stood in."""

    begun: int
    parts: int = 0
    size: int = 0
    held: list[bytes] = field(default_factory=list)

    def add(self, part: bytes) -> None:
        self.parts += 1
        self.size += len(part)
        if self.size <= LONGEST_LINE:
            self.held.append(part)
        else:
            self.held.clear()
