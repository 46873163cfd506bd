"""Open, decompress and hash a file in one pass, as blocks of whole lines.

The hash is that of the bytes on disk, taken while they are read: what was hashed
is what was parsed. Compression is found by its magic number, not by the name.
"""

from __future__ import annotations

import hashlib
import io
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import BinaryIO, Protocol

import numpy as np
import polars as pl

from forensics.sources import returns
from forensics.sources.archives.members import MemberStream, open_member
from forensics.sources.files import Input
from forensics.sources.packing import DamagedStreamError, unpacked
from forensics.sources.texts import as_utf_8

BLOCK_BYTES = 4 << 20
READ_BYTES = 256 << 10
"""Read and hashed at a time: few enough to be parsed while they are in the processor's cache."""

LONGEST_LINE = 64 << 20
"""A longer line is counted as unreadable; it could not be held in bounded memory."""

TOO_LONG = f"line longer than {LONGEST_LINE >> 20} MiB"

_PARQUET = b"PAR1"
_MAGIC_BYTES = 8
_LINE_FEED = 10
_MARKS = 0xCF
"""Takes a colon for a line feed: both are found in one go."""


@dataclass(frozen=True)
class Block:
    """Whole lines: bytes, number of the first line (from 1), offset of the first byte.

    The offset is None where the lines do not stand like that in the file, as those that a
    wrapper held or entries of a list.
    ``reason`` is set where the bytes could not be kept; they are then empty and the
    block stands for one unreadable line. Lines that a wrapper held have the ``numbers`` of
    its records, and ``times`` in microseconds of UTC where it tells them.
    """

    data: bytes
    line: int
    offset: int | None
    reason: str | None = None
    numbers: np.ndarray | None = None
    times: pl.Series | None = None

    def number(self, at: int) -> int:
        """Return the number of a line, the first of the block being 0."""
        return self.line + at if self.numbers is None else int(self.numbers[at])

    def all_numbers(self, count: int) -> Sequence[int]:
        """Return the numbers of the block's lines, of which there are ``count``."""
        if self.numbers is None:
            return range(self.line, self.line + count)
        numbers: list[int] = self.numbers.tolist()
        return numbers

    @cached_property
    def ends(self) -> np.ndarray:
        """Where the lines end: offsets of their line feeds within ``data``."""
        data = np.frombuffer(self.data, np.uint8)
        # Piece by piece: what is made on the way stays in the processor's cache.
        begins = range(0, len(data), READ_BYTES)
        feeds = (data[at : at + READ_BYTES] == _LINE_FEED for at in begins)
        found = [np.flatnonzero(feed) + at for at, feed in zip(begins, feeds, strict=True)]
        return np.concatenate(found) if found else np.zeros(0, np.int64)

    @cached_property
    def marks(self) -> tuple[np.ndarray, np.ndarray]:
        """Where line feeds and colons are, and which it is; some other bytes are among them.

        Both in one go, which gives :attr:`ends` for next to nothing.
        """
        data = np.frombuffer(self.data, np.uint8)
        begins = range(0, len(data), READ_BYTES)
        masked = ((data[at : at + READ_BYTES] & _MARKS) == _LINE_FEED for at in begins)
        found = [np.flatnonzero(some) + at for at, some in zip(begins, masked, strict=True)]
        marks = np.concatenate(found) if found else np.zeros(0, np.int64)
        kinds = data[marks]
        self.__dict__.setdefault("ends", marks[kinds == _LINE_FEED])
        return marks, kinds

    @cached_property
    def starts(self) -> np.ndarray:
        """Where the lines begin: offsets of their first bytes within ``data``."""
        starts = np.append(0, self.ends + 1)
        return starts[:-1] if starts[-1] == len(self.data) else starts


class Source(Protocol):
    """What a reader reads: a file, or what a wrapper held."""

    @property
    def magic(self) -> bytes:
        """The first bytes."""

    def head(self) -> bytes:
        """Return the beginning; it is read again later."""

    def blocks(self, size: int | None = None) -> Iterator[Block]:
        """Yield blocks of whole lines."""

    def whole(self) -> io.BytesIO:
        """Return all bytes in memory."""


class Opened:
    """One input during its reading pass; use as a context manager."""

    def __init__(self, source: Input, progress: Callable[[int], None] = lambda _: None) -> None:
        self.source = source
        self.bytes_read = 0
        self._progress = progress
        self._hash = hashlib.sha256()
        self.magic = b""
        """The first bytes on disk."""
        self._first: list[bytes] = []
        self._damage: DamagedStreamError | None = None

    def __enter__(self) -> Opened:
        self._stream = _stream(self.source)
        # Not peek(): on a pipe it may show fewer bytes than will come.
        self.magic = self._stream.read(_MAGIC_BYTES)
        self._on_disk = self._raw()
        self._plain = _line_ends(as_utf_8(unpacked(self.magic, self._on_disk, BLOCK_BYTES)))
        return self

    def __exit__(self, *_: object) -> None:
        if self.source.path is not None:
            self._stream.close()

    @property
    def sha256(self) -> str:
        """Hash of all bytes read so far, hexadecimal."""
        return self._hash.hexdigest()

    def head(self) -> bytes:
        """Return the first :data:`BLOCK_BYTES`, decompressed; they are read again later.

        As many of them whether compressed or not, so that the same file is told alike.

        Raises:
            DamagedStreamError: not one byte could be decompressed.
        """
        try:
            while sum(map(len, self._first)) < BLOCK_BYTES:
                self._first.append(next(self._plain))
        except StopIteration:
            pass
        except DamagedStreamError as error:
            if not any(self._first):
                raise
            self._damage = error
        return b"".join(self._first)[:BLOCK_BYTES]

    def blocks(self, size: int | None = None) -> Iterator[Block]:
        """Yield blocks of whole lines, about :data:`BLOCK_BYTES` each, or ``size`` if less."""
        most = BLOCK_BYTES if size is None else min(size, BLOCK_BYTES)
        return _lines(_pieces(self._content(), most))

    def whole(self) -> io.BytesIO:
        """Return all bytes in memory, decompressed, for formats that need random access."""
        return io.BytesIO(b"".join(self._content()))

    def drain(self) -> None:
        """Read to the end, for the hash alone.

        Raises:
            DamagedStreamError: an archive breaks off there, which was not met before.
        """
        for _ in self._on_disk:
            pass

    def _content(self) -> Iterator[bytes]:
        """Yield the decompressed bytes without a byte order mark, what head() saw included."""
        yield from self._first
        self._first = []
        if self._damage is not None:
            raise self._damage
        yield from self._plain

    def _raw(self) -> Iterator[bytes]:
        held, size = self.magic, min(READ_BYTES, BLOCK_BYTES)
        while chunk := held + self._stream.read(size - len(held)):
            held = b""
            self._hash.update(chunk)
            self.bytes_read += len(chunk)
            self._progress(len(chunk))
            yield chunk
        if isinstance(self._stream, MemberStream) and self._stream.damage is not None:
            raise self._stream.damage


def _stream(source: Input) -> BinaryIO | MemberStream:
    """Open an input where it lies: on disk, in an archive, or on standard input."""
    if source.path is None:
        return sys.stdin.buffer
    if source.member is not None:
        return open_member(source.path, source.member)
    return source.path.open("rb")


def _line_ends(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the stream with a line feed at the end of each line; Parquet is no text."""
    first = next(chunks, b"")
    whole = chain((first,), chunks)
    yield from whole if first.startswith(_PARQUET) else returns.ended(whole)


def _pieces(chunks: Iterator[bytes], size: int) -> Iterator[bytes]:
    """Put chunks together, or cut those that unfolded far, to pieces of about one size.

    So a long line is met the same way however packed. Where a line ends near the end of a
    piece, the piece does. What came before the stream breaks off is yielded before the error
    is passed on.
    """
    held: list[bytes | memoryview] = []
    total = 0
    try:
        for chunk in chunks:
            for start in range(0, len(chunk), size):
                piece = chunk[start : start + size]
                total += len(piece)
                if total < size:
                    held.append(piece)
                    continue
                cut = piece.rfind(b"\n") + 1 or len(piece)
                yield b"".join((*held, memoryview(piece)[:cut]))
                held, total = [piece[cut:]], 0
    except (DamagedStreamError, OSError):
        yield b"".join(held)
        raise
    yield b"".join(held)


def _lines(chunks: Iterator[bytes]) -> Iterator[Block]:
    """Cut a stream of bytes into blocks that end at a line end."""
    held: list[bytes] = []
    size, line, offset, skipping = 0, 1, 0, False
    for chunk in chunks:
        cut = chunk.rfind(b"\n") + 1
        if skipping:
            if not cut:
                offset += len(chunk)
                continue
            end = chunk.find(b"\n") + 1
            offset, line, skipping = offset + end, line + 1, False
            chunk, cut = chunk[end:], cut - end
        first = chunk.find(b"\n") + 1
        if first and size + first - 1 > LONGEST_LINE:
            yield Block(b"", line, offset, TOO_LONG)
            offset, line, held, size = offset + size + first, line + 1, [], 0
            chunk, cut = chunk[first:], cut - first
        if cut:
            whole = not held and cut == len(chunk)
            data = chunk if whole else b"".join((*held, memoryview(chunk)[:cut]))
            block = Block(data, line, offset)
            yield block
            line, offset = line + len(block.ends), offset + len(data)
            held, size = [], 0
        rest = chunk[cut:]
        if rest:
            held.append(rest)
            size += len(rest)
        if size > LONGEST_LINE:
            yield Block(b"", line, offset, TOO_LONG)
            offset, held, size, skipping = offset + size, [], 0, True
    if held:
        yield Block(b"".join(held), line, offset)


class ToDamage:
    """A source that ends where its stream breaks off; ``damage`` then says why.

    So a reader hands on what it holds back until the end, as it does of a whole file.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self.damage: DamagedStreamError | OSError | None = None

    @property
    def magic(self) -> bytes:
        """The first bytes."""
        return self._source.magic

    def head(self) -> bytes:
        """Return the beginning; it is read again later."""
        return self._source.head()

    def blocks(self, size: int | None = None) -> Iterator[Block]:
        """Yield blocks of whole lines up to the damage."""
        try:
            yield from self._source.blocks(size)
        except (DamagedStreamError, OSError) as error:
            self.damage = error

    def whole(self) -> io.BytesIO:
        """Return all bytes in memory."""
        return self._source.whole()
