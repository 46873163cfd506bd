"""Where reading had come to in a generation of a log, as a state holds it."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

Identity = tuple[int, int]
"""Device and inode."""


class Copy(msgspec.Struct, frozen=True):
    """A file that holds a generation, and what it looked like when that was last made sure of."""

    device: int
    inode: int
    size: int
    mtime: int


class Place(msgspec.Struct, frozen=True):
    """A place in a generation of a log: all that was ever written between two rotations.

    Attributes:
        number: of the generation, among all of a watch; rows carry it as their file.
        mark: keyed hash of its first bytes and the last of ``size``; see :mod:`prints`.
        offset: bytes that were read, unpacked.
        lines: lines in them.
        size: bytes that it was seen to have.
        finished: read to its end, and followed by another.
        skipped: was there before the watch, under a name that nobody asked for.
        copies: the files that hold it.
    """

    number: int
    mark: str
    offset: int
    lines: int
    size: int
    finished: bool
    skipped: bool
    copies: tuple[Copy, ...]


@dataclass(frozen=True)
class Chunk:
    """Whole lines of a generation, and how many bytes and lines are before them."""

    data: bytes
    number: int
    offset: int
    lines: int
