"""Unpack compressed bytes as they come; what they are packed with is told by their magic number."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Protocol

import zstandard

_SLICE = 4 << 10
"""Compressed bytes taken at a time: even 32,768-fold, as zstd can, they fit into memory."""
_XZ_MEMORY = 512 << 20
"""Bytes that unpacking may take: the densest setting of xz needs 65 MiB."""
FREE = 1 << 30
MOST_FOLD = 2_000
"""What unpacks further, once it is past :data:`FREE` bytes, is no log: gzip ends at 1,032."""
BOMB = f"unpacks to more than {MOST_FOLD:,} times its size: the rest is not read"

_BROKEN = (zlib.error, zstandard.ZstdError, lzma.LZMAError, OSError, EOFError)
"""What unpackers raise on corrupt data."""


class DamagedStreamError(Exception):
    """The compressed stream ends early or is corrupt; holds the byte offset reached."""

    def __init__(self, reason: str, offset: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.offset = offset


class _Decompressor(Protocol):
    def decompress(self, data: bytes, /) -> bytes: ...


_PACKERS: dict[bytes, tuple[str, Callable[[], _Decompressor]]] = {
    b"\x1f\x8b": ("gzip", lambda: zlib.decompressobj(wbits=31)),
    b"\x28\xb5\x2f\xfd": ("zstd", lambda: zstandard.ZstdDecompressor().decompressobj()),
    b"\xfd7zXZ\0": ("xz", lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)),
    b"BZh": ("bzip2", bz2.BZ2Decompressor),
}


def packer(magic: bytes) -> str | None:
    """Return what a file that begins so is packed with; None where it is not."""
    return next((name for start, (name, _) in _PACKERS.items() if magic.startswith(start)), None)


def decompress(magic: bytes, chunks: Iterator[bytes], size: int) -> Iterator[bytes]:
    """Yield what chunks unpack to, about ``size`` bytes at a time, or the chunks themselves.

    Raises:
        DamagedStreamError: the data are corrupt, end early or unfold too far.
    """
    for start, (_, make) in _PACKERS.items():
        if magic.startswith(start):
            yield from _members(chunks, make, size)
            return
    yield from chunks


_DEEPEST = 4
"""Packings, one within another, that are taken off; so deep none is by accident."""


def unpacked(magic: bytes, chunks: Iterator[bytes], size: int) -> Iterator[bytes]:
    """Yield what :func:`decompress` does, also of what a second tool packed again.

    Raises:
        DamagedStreamError: as there; that it unfolds too far is judged of all packings together.
    """
    on_disk = _Counted(chunks)
    inner: Iterator[bytes] = on_disk
    depth = 0
    while packer(magic) is not None and depth < _DEEPEST:
        inner = decompress(magic, inner, size)
        magic = next(inner, b"")
        inner, depth = chain((magic,), inner), depth + 1
    yield from inner if depth <= 1 else _no_bomb(inner, on_disk)


def _no_bomb(chunks: Iterator[bytes], on_disk: _Counted) -> Iterator[bytes]:
    size = 0
    for chunk in chunks:
        yield chunk
        size += len(chunk)
        if is_bomb(on_disk.taken, size):
            raise DamagedStreamError(BOMB, size)


class _Counted(Iterator[bytes]):
    """Chunks, and how many bytes they had so far."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self.taken = 0

    def __next__(self) -> bytes:
        chunk = next(self._chunks)
        self.taken += len(chunk)
        return chunk


def _members(
    chunks: Iterator[bytes], make: Callable[[], _Decompressor], most: int
) -> Iterator[bytes]:
    """Yield the plain bytes of one or more compressed members, one after the other."""
    machine, offset, fresh, taken = make(), 0, True, 0
    held: list[bytes] = []
    size = 0
    try:
        for data in _slices(chunks):
            taken += len(data)
            while data:
                out = _unpacked(machine, data, offset)
                offset, size, fresh = offset + len(out), size + len(out), False
                held.append(out)
                data = b""
                if getattr(machine, "eof", False):
                    data = getattr(machine, "unused_data", b"").lstrip(b"\0")
                    machine, fresh = make(), True
            if is_bomb(taken, offset):
                raise DamagedStreamError(BOMB, offset)
            if size >= most:
                yield b"".join(held)
                held, size = [], 0
    except DamagedStreamError:
        yield b"".join(held)
        raise
    yield b"".join(held)
    if not fresh:
        raise DamagedStreamError("compressed data ends early", offset)


def _unpacked(machine: _Decompressor, data: bytes, offset: int) -> bytes:
    try:
        return machine.decompress(data)
    except _BROKEN:
        raise DamagedStreamError("corrupt compressed data", offset) from None


def is_bomb(taken: int, unpacked: int) -> bool:
    """Say whether so many bytes came from so few that they can be no log."""
    return unpacked > FREE and unpacked > MOST_FOLD * taken


def _slices(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Cut chunks small, so that a bomb cannot unfold into all of memory at once."""
    for chunk in chunks:
        for start in range(0, len(chunk), _SLICE):
            yield chunk[start : start + _SLICE]
