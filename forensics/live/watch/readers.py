"""The bytes of a file at a place, packed or not."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

from forensics.live.watch.place import Identity
from forensics.live.watch.prints import WINDOW, Prints
from forensics.sources.packing import DamagedStreamError, decompress, packer

_MAGIC = 8
_AT_ONCE = 256 << 10
_UNPACKED = 1 << 20


class Reader(Protocol):
    """An open file; the same one even if it is moved or removed."""

    packed: bool
    identity: Identity

    @property
    def size(self) -> int:
        """Bytes that it has now, unpacked."""

    @property
    def whole(self) -> bool:
        """Say whether it does not break off in what it is packed with."""

    def read_at(self, offset: int, most: int) -> bytes:
        """Return bytes from a place on."""

    def marks(self, offsets: Iterable[int], prints: Prints) -> dict[int, str]:
        """Return what tells it by its content up to each offset that it reaches."""

    def close(self) -> None:
        """Close it."""


def open_reader(path: Path) -> Reader:
    """Open a file.

    Raises:
        OSError: it cannot be opened.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    packed = packer(os.pread(descriptor, _MAGIC, 0)) is not None
    return Packed(descriptor) if packed else Plain(descriptor)


def mark(reader: Reader, offset: int, prints: Prints) -> str:
    """Return what tells a file by its content up to an offset; "" where nothing was read."""
    return reader.marks([offset], prints).get(offset, "") if offset else ""


class Plain:
    """A file as it lies there."""

    packed = False
    whole = True

    def __init__(self, descriptor: int) -> None:
        self._file = descriptor
        found = os.fstat(descriptor)
        self.identity = found.st_dev, found.st_ino

    @property
    def size(self) -> int:
        """Bytes that it has now."""
        return os.fstat(self._file).st_size

    def read_at(self, offset: int, most: int) -> bytes:
        """Return bytes from a place on."""
        return os.pread(self._file, most, offset)

    def marks(self, offsets: Iterable[int], prints: Prints) -> dict[int, str]:
        """Return what tells it by its content up to each offset that it reaches."""
        size, found = self.size, {}
        for offset in offsets:
            if 0 < offset <= size:
                count = min(WINDOW, offset)
                begin, end = self.read_at(0, count), self.read_at(offset - count, count)
                found[offset] = prints.of(begin, end)
        return found

    def close(self) -> None:
        """Close it."""
        os.close(self._file)


class Packed:
    """A packed file, as what it unpacks to; it is gone through from its beginning."""

    packed = True

    def __init__(self, descriptor: int) -> None:
        self._file = descriptor
        found = os.fstat(descriptor)
        self.identity = found.st_dev, found.st_ino
        self._seen, self._size, self._whole = (-1, -1), 0, False
        self._at, self._left, self._pieces = 0, b"", self._unpacked()

    @property
    def size(self) -> int:
        """Bytes that it unpacks to now."""
        self._measure()
        return self._size

    @property
    def whole(self) -> bool:
        """Say whether it does not break off."""
        self._measure()
        return self._whole

    def read_at(self, offset: int, most: int) -> bytes:
        """Return bytes from a place on; it is quick where they follow those read last."""
        if offset < self._at:
            self._begin()
        while self._at + len(self._left) < offset + most:
            passed = min(max(0, offset - self._at), len(self._left))
            self._at, self._left = self._at + passed, self._left[passed:]
            piece = next(self._pieces, None)
            if piece is None:
                break
            self._left += piece
        start = offset - self._at
        return self._left[start : start + most]

    def marks(self, offsets: Iterable[int], prints: Prints) -> dict[int, str]:
        """Return what tells it by its content up to each offset that it reaches: in one go."""
        wanted = sorted({offset for offset in offsets if offset > 0})
        found: dict[int, str] = {}
        begin, before, at = b"", b"", 0
        for piece in self._unpacked():
            begin += piece[: WINDOW - len(begin)]
            data, first = before + piece, at - len(before)
            at += len(piece)
            while wanted and wanted[0] <= at:
                offset = wanted.pop(0)
                count = min(WINDOW, offset)
                end = offset - first
                found[offset] = prints.of(begin[:count], data[end - count : end])
            before = data[-WINDOW:]
        return found

    def close(self) -> None:
        """Close it."""
        os.close(self._file)

    def _begin(self) -> None:
        self._at, self._left, self._pieces = 0, b"", self._unpacked()

    def _measure(self) -> None:
        found = os.fstat(self._file)
        if self._seen == (found.st_size, found.st_mtime_ns):
            return
        self._seen = found.st_size, found.st_mtime_ns
        self._ended = False
        self._size = sum(map(len, self._unpacked()))
        self._whole = self._ended
        self._begin()

    def _unpacked(self) -> Iterator[bytes]:
        """Yield what is there, up to where it breaks off."""
        try:
            yield from decompress(os.pread(self._file, _MAGIC, 0), self._chunks(), _UNPACKED)
            self._ended = True
        except DamagedStreamError:
            return

    def _chunks(self) -> Iterator[bytes]:
        offset = 0
        while data := os.pread(self._file, _AT_ONCE, offset):
            offset += len(data)
            yield data


def alike(one: Reader, other: Reader, size: int) -> bool:
    """Say whether two files begin alike, and are alike before a place."""
    count = min(size, WINDOW)
    places = (0, size - count)
    return all(one.read_at(at, count) == other.read_at(at, count) for at in places)
