"""Bytes of an archive file, read forward: as they are on disk, or unpacked as they come."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import BinaryIO, Protocol

from forensics.sources.packing import DamagedStreamError, decompress

_CHUNK = 64 << 10
_MAGIC = 8
_UNPACKED = 1 << 20
"""Bytes that are unpacked at a time."""
ENDS_EARLY = "archive ends early"


class Stream(Protocol):
    """Bytes that are read forward."""

    at: int

    def read(self, size: int) -> bytes:
        """Return so many bytes, fewer only at the end and before a damage."""

    def skip(self, size: int) -> None:
        """Pass over so many bytes."""


class OnDisk:
    """A file as it is: what is passed over is not read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._size = os.fstat(file.fileno()).st_size
        self.at = 0

    def read(self, size: int) -> bytes:
        """Return so many bytes, fewer only where there are no more."""
        data = self._file.read(size)
        self.at += len(data)
        return data

    def skip(self, size: int) -> None:
        """Pass over so many bytes.

        Raises:
            DamagedStreamError: the file holds fewer.
        """
        if self.at + size > self._size:
            raise DamagedStreamError(ENDS_EARLY, self.at)
        self.at += size
        self._file.seek(self.at)


class Unpacked:
    """A compressed file: what is passed over has to be unpacked, and is then dropped."""

    def __init__(self, file: BinaryIO) -> None:
        first = file.read(_MAGIC)
        self._chunks = decompress(first, _chunks(first, file), _UNPACKED)
        self._held = memoryview(b"")
        self._damage: DamagedStreamError | None = None
        self.at = 0

    def read(self, size: int) -> bytes:
        """Return so many bytes, fewer only at the end and before a damage.

        Raises:
            DamagedStreamError: the stream is corrupt there.
        """
        found: list[memoryview] = []
        try:
            while size and self._fill():
                found.append(self._take(size))
                size -= len(found[-1])
        except DamagedStreamError:
            if not found:
                raise
        return b"".join(found)

    def skip(self, size: int) -> None:
        """Pass over so many bytes.

        Raises:
            DamagedStreamError: the stream holds fewer, or is corrupt.
        """
        while size:
            if not self._fill():
                raise DamagedStreamError(ENDS_EARLY, self.at)
            size -= len(self._take(size))

    def _take(self, most: int) -> memoryview:
        taken, self._held = self._held[:most], self._held[most:]
        self.at += len(taken)
        return taken

    def _fill(self) -> bool:
        if self._damage is not None:
            raise self._damage
        while not self._held:
            try:
                chunk = next(self._chunks, None)
            except DamagedStreamError as error:
                self._damage = error
                raise
            if chunk is None:
                return False
            self._held = memoryview(chunk)
        return True


def _chunks(first: bytes, file: BinaryIO) -> Iterator[bytes]:
    yield first
    while chunk := file.read(_CHUNK):
        yield chunk
