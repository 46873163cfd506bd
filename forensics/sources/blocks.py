"""Open, decompress and hash a file in one pass, as blocks of whole lines.

The hash is that of the bytes on disk, taken while they are read: what was hashed
is what was parsed. Compression is found by its magic number, not by the name.
"""

from __future__ import annotations

import hashlib
import io
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, cast

import numpy as np
import zstandard

from forensics.sources.files import Input

BLOCK_BYTES = 4 << 20
READ_BYTES = 256 << 10
"""Read and hashed at a time: few enough to be parsed while they are in the processor's cache."""

LONGEST_LINE = 64 << 20
"""A longer line is counted as unreadable; it could not be held in bounded memory."""

TOO_LONG = f"line longer than {LONGEST_LINE >> 20} MiB"

_SLICE = 4 << 10
"""Compressed bytes taken at a time: even 32,768-fold, as zstd can, they fit into memory."""

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_BOM = b"\xef\xbb\xbf"
_MAGIC_BYTES = 8
_LINE_FEED = 10


class DamagedStreamError(Exception):
    """The compressed stream ends early or is corrupt; holds the byte offset reached."""

    def __init__(self, reason: str, offset: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.offset = offset


@dataclass(frozen=True)
class Block:
    """Whole lines: bytes, number of the first line (from 1), offset of the first byte.

    ``reason`` is set where the bytes could not be kept; they are then empty and the
    block stands for one unreadable line.
    """

    data: bytes
    line: int
    offset: int
    reason: str | None = None

    @cached_property
    def ends(self) -> np.ndarray:
        """Where the lines end: offsets of their line feeds within ``data``."""
        return np.flatnonzero(np.frombuffer(self.data, np.uint8) == _LINE_FEED)


class _Decompressor(Protocol):
    def decompress(self, data: bytes, /) -> bytes: ...


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
        path = self.source.path
        stream = sys.stdin.buffer if path is None else path.open("rb")
        self._stream = cast("io.BufferedReader", stream)
        # Not peek(): on a pipe it may show fewer bytes than will come.
        self.magic = self._stream.read(_MAGIC_BYTES)
        self._on_disk = self._raw()
        self._plain = _drop_bom(_decompress(self.magic, self._on_disk))
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
        """Read to the end, for the hash alone."""
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


def _decompress(magic: bytes, chunks: Iterator[bytes]) -> Iterator[bytes]:
    if magic.startswith(_GZIP):
        make: Callable[[], _Decompressor] = lambda: zlib.decompressobj(wbits=31)  # noqa: E731
    elif magic.startswith(_ZSTD):
        make = lambda: zstandard.ZstdDecompressor().decompressobj()  # noqa: E731
    else:
        yield from chunks
        return
    yield from _members(chunks, make)


def _members(chunks: Iterator[bytes], make: Callable[[], _Decompressor]) -> Iterator[bytes]:
    """Yield the plain bytes of one or more compressed members, one after the other."""
    machine, offset, fresh = make(), 0, True
    held: list[bytes] = []
    size = 0
    for data in _slices(chunks):
        while data:
            try:
                out = machine.decompress(data)
            except (zlib.error, zstandard.ZstdError):
                yield b"".join(held)
                raise DamagedStreamError("corrupt compressed data", offset) from None
            offset, size, fresh = offset + len(out), size + len(out), False
            held.append(out)
            data = b""
            if getattr(machine, "eof", False):
                data = getattr(machine, "unused_data", b"").lstrip(b"\0")
                machine, fresh = make(), True
        if size >= BLOCK_BYTES:
            yield b"".join(held)
            held, size = [], 0
    yield b"".join(held)
    if not fresh:
        raise DamagedStreamError("compressed data ends early", offset)


def _slices(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Cut chunks small, so that a bomb cannot unfold into all of memory at once."""
    for chunk in chunks:
        for start in range(0, len(chunk), _SLICE):
            yield chunk[start : start + _SLICE]


def _drop_bom(chunks: Iterator[bytes]) -> Iterator[bytes]:
    start = b""
    for chunk in chunks:
        start += chunk
        if len(start) >= len(_BOM):
            break
    yield start.removeprefix(_BOM)
    yield from chunks


def _pieces(chunks: Iterator[bytes], size: int) -> Iterator[bytes]:
    """Put chunks together, or cut those that unfolded far, to pieces of about one size.

    So a long line is met the same way however packed. What came before the stream breaks
    off is yielded before the error is passed on.
    """
    held: list[bytes] = []
    total = 0
    try:
        for chunk in chunks:
            for start in range(0, len(chunk), size):
                held.append(chunk[start : start + size])
                total += len(held[-1])
                if total >= size:
                    yield b"".join(held)
                    held, total = [], 0
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
            data = b"".join((*held, memoryview(chunk)[:cut]))
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
