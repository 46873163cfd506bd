"""One growing file: its new whole lines, over rotation and truncation.

A file is known by its device, its inode and the hash of its first bytes, not by its name:
what is moved aside is read to its end before its successor is begun, and one that was
emptied in place is begun again.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

MOST = 8 << 20
"""Bytes that are read of a file in one go."""
_HEAD = 256

Event = Literal["truncated", "rotated", "lost"]


class Place(msgspec.Struct, frozen=True):
    """A place in a file: which file, by what is known of it, and how far."""

    device: int
    inode: int
    head: str
    head_bytes: int
    offset: int
    lines: int


@dataclass(frozen=True)
class Chunk:
    """Whole lines of a file, where they begin, and where the next ones will."""

    data: bytes
    begin: Place
    end: Place


class Followed:
    """An open file that is read as it grows.

    Raises:
        OSError: it cannot be opened.
    """

    def __init__(self, path: Path, place: Place | None = None) -> None:
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        found = os.fstat(self._file)
        self._device, self._inode = found.st_dev, found.st_ino
        self._offset = place.offset if place else 0
        self._lines = place.lines if place else 0
        self._head = (place.head, place.head_bytes) if place else ("", 0)

    @property
    def identity(self) -> tuple[int, int]:
        """Device and inode."""
        return self._device, self._inode

    @property
    def size(self) -> int:
        """Bytes that the file has now."""
        return os.fstat(self._file).st_size

    @property
    def place(self) -> Place:
        """Where the next line begins."""
        head, size = self._head
        return Place(self._device, self._inode, head, size, self._offset, self._lines)

    def emptied(self) -> bool:
        """Say whether what was read is there no more, and begin again if so."""
        digest, size = self._head
        same = self.size >= self._offset and self._digest(size) == digest
        if size and not same:
            self._offset, self._lines, self._head = 0, 0, ("", 0)
            return True
        return False

    def read(self, *, last: bool = False, most: int = MOST) -> Chunk | None:
        """Return the whole lines that are new, up to so many bytes.

        Args:
            last: no more will be written: a line without an end counts.
            most: bytes; a line that is longer comes in pieces, as no reader takes it anyway.
        """
        data = os.pread(self._file, most, self._offset)
        end = data.rfind(b"\n") + 1
        if (last and len(data) < most) or (not end and len(data) == most):
            end = len(data)
        if not end:
            return None
        begin = self.place
        self._offset += end
        self._lines += data.count(b"\n", 0, end)
        if self._head[1] < _HEAD:
            size = min(self._offset, _HEAD)
            self._head = (self._digest(size), size)
        return Chunk(data[:end], begin, self.place)

    def back(self, place: Place) -> None:
        """Go back to where a chunk began: it could not be used yet."""
        self._offset, self._lines = place.offset, place.lines

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def _digest(self, size: int) -> str:
        return hashlib.sha256(os.pread(self._file, size, 0)).hexdigest()[:16] if size else ""


def is_at(path: Path, place: Place) -> bool:
    """Say whether the file of a path is the one of a place, still holding what was read."""
    try:
        found = path.stat()
        if (found.st_dev, found.st_ino) != (place.device, place.inode):
            return False
        with path.open("rb") as file:
            head = file.read(place.head_bytes)
    except OSError:
        return False
    digest = hashlib.sha256(head).hexdigest()[:16] if head else ""
    return found.st_size >= place.offset and digest == place.head
