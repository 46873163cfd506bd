"""A file as its engine wrote it: the lines behind a wrapper, read like a file of their own."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import polars as pl

from forensics.sources.blocks import BLOCK_BYTES, Block, Source, ToDamage
from forensics.sources.packing import DamagedStreamError
from forensics.sources.parsed import Parsed
from forensics.sources.times import in_utc
from forensics.sources.wrappers.inner import FURTHER, PART, At, Inner, Inners
from forensics.sources.wrappers.kinds import Names, Wrapper

_END_OF_TIME = 1 << 58
"""Microseconds: the year 11,000; no number beyond is a time."""
Lines = list[tuple[Inner, int]]
"""Inner lines, each with the number of its record."""


class Layer:
    """The lines behind one wrapper.

    Args:
        source: the file, or the layer above.
        wrapper: what is taken off.
        names: names of known columns.
    """

    def __init__(self, source: Source, wrapper: Wrapper, names: Names) -> None:
        self.wrapper = wrapper
        self.streams: Counter[str] = Counter()
        """Lines of each pod or host that was met so far."""
        self.parsed = Parsed()
        """Records that gave no line so far, each counted once."""
        self._source = source
        self._unwrapping = wrapper.start(names)
        self._stream: str | None = None
        self._held: list[Lines | Block] = []
        self._lines = self._taken()
        self._damage: DamagedStreamError | None = None

    def only(self, stream: str) -> None:
        """Read the lines of one pod or host alone."""
        self._stream = stream

    @property
    def magic(self) -> bytes:
        """The first bytes behind the wrapper."""
        return self.head()[:8]

    def head(self) -> bytes:
        """Return the first bytes behind the wrapper; they are read again later."""
        size = sum(self._size(lines) for lines in self._held)
        try:
            while size < BLOCK_BYTES and (lines := next(self._lines, None)) is not None:
                self._held.append(lines)
                size += self._size(lines)
        except DamagedStreamError as error:
            self._damage = error
        return b"".join(map(self._bytes, self._held))[:BLOCK_BYTES]

    def blocks(self, size: int | None = None) -> Iterator[Block]:  # noqa: ARG002
        """Yield the lines behind the wrapper, those of one block of the source at a time."""
        for lines in self._held:
            yield from self._block(lines)
        self._held = []
        if self._damage is not None:
            raise self._damage
        for lines in self._lines:
            yield from self._block(lines)

    def whole(self) -> io.BytesIO:
        """Return all lines in memory."""
        return io.BytesIO(b"".join(block.data for block in self.blocks()))

    def _bytes(self, lines: Lines | Block) -> bytes:
        if isinstance(lines, Block):
            return lines.data
        return b"".join(_one_line(inner.line) + b"\n" for inner, _ in self._kept(lines))

    def _size(self, lines: Lines | Block) -> int:
        if isinstance(lines, Block):
            return len(lines.data)
        return sum(len(inner.line) for inner, _ in self._kept(lines))

    def _kept(self, lines: Lines) -> Lines:
        if self._stream is None:
            return lines
        return [one for one in lines if one[0].stream == self._stream]

    def _block(self, lines: Lines | Block) -> Iterator[Block]:
        if isinstance(lines, Block):
            yield replace(lines, offset=None)
            return
        kept = self._kept(lines)
        if not kept:
            return
        texts = [_one_line(inner.line) for inner, _ in kept]
        further = sum(_has_further(inner.line) for inner, _ in kept)
        if further:
            self.parsed.notes[FURTHER] += further
        numbers = np.array([number for _, number in kept])
        moments = _micros(inner.at for inner, _ in kept)
        data = b"\n".join(texts) + b"\n"
        yield Block(data, int(numbers[0]), None, numbers=numbers, times=moments)

    def _taken(self) -> Iterator[Lines | Block]:
        source = ToDamage(self._source)
        for block in source.blocks():
            whole = self._unwrapping.whole(block)
            if whole is None:
                yield self._account(self._unwrapping.take(block), block.times, block)
            else:
                self.streams[""] += len(whole.block.ends)
                if whole.parts:
                    self.parsed.read += whole.parts
                    self.parsed.ignored[PART] += whole.parts
                yield whole.block
        yield self._account(self._unwrapping.end())
        if source.damage is not None:
            raise source.damage

    def _account(
        self, found: Inners, times: pl.Series | None = None, block: Block | None = None
    ) -> Lines:
        found.print_over()
        self.streams.update(inner.stream for inner in found.found)
        self.parsed.read += found.read
        self.parsed.ignored += found.ignored
        self.parsed.unread += found.unread
        self.parsed.notes += found.notes
        lines = list(zip(found.found, found.numbers, strict=True))
        if times is None or block is None:
            return lines
        # The outermost clock wins: it is the one that was set for all.
        at = dict(zip(block.all_numbers(len(times)), times.to_list(), strict=True))
        return [(_dated(inner, at.get(number)), number) for inner, number in lines]


def _dated(inner: Inner, at: int | None) -> Inner:
    return inner if at is None else inner._replace(at=at)


def _has_further(text: bytes) -> bool:
    return b"\n" in text.rstrip(b"\r\n") and not _DOCUMENT.match(text)


_DOCUMENT = re.compile(rb'\{|\[\s*[\[{"]')
"""Begin of JSON; a line of an engine begins with a time in a bracket."""


def _one_line(text: bytes) -> bytes:
    """Return a record as one line: a line end in it does not begin another record."""
    text = text.rstrip(b"\r\n")
    if b"\n" not in text:
        return text
    if _has_further(text):
        return text.split(b"\n", 1)[0]
    return text.replace(b"\n", b" ")  # JSON has no line end inside a text


def _is_time(at: At) -> bool:
    return isinstance(at, int) and abs(at) < _END_OF_TIME


def _micros(moments: Iterable[At]) -> pl.Series | None:
    """Return microseconds of UTC; None where no record has a time whose zone is known."""
    values = list(moments)
    texts = pl.Series([at if isinstance(at, str) else None for at in values], dtype=pl.String)
    numbers = pl.Series([at if _is_time(at) else None for at in values], dtype=pl.Int64)
    known = in_utc(texts)
    if known is not None:
        numbers = numbers.zip_with(numbers.is_not_null(), known)
    return numbers if numbers.null_count() < len(numbers) else None
