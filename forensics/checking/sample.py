"""Head, tail and evenly spaced slices of a file, cut at line ends, without reading the rest.

A compressed file has no middle that could be read alone: of it the head is taken.
Bytes are held only while a file is looked at.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Literal

from forensics.checking import packed, parquet
from forensics.sources.archives.listing import Member
from forensics.sources.archives.members import opened_member
from forensics.sources.files import Input

How = Literal["whole", "slices", "head", "rows", "document", "nothing"]
"""What a sample holds.

``whole``
    all of the file: counts are exact
``slices``
    head, tail and slices between them
``head``
    the beginning alone, since nothing else can be read without the rest
``rows``
    some row groups of a Parquet file, named columns only
``document``
    the beginning of one long document without lines: told by it, but not read
``nothing``
    no byte was left of the budget
"""

Range = tuple[int, int]
"""First byte, and the byte after the last."""
Told = Callable[[int], object]

_MIDDLE = 8
"""Slices between head and tail, at the most."""
FIRST = 16 << 10
"""Bytes at the beginning that tell what kind of file it is; a slice is no shorter."""
_NUL_WITHIN = 4096


@dataclass(frozen=True)
class Piece:
    """Whole lines, and where in the file they stand."""

    offset: int
    data: bytes = field(repr=False)


@dataclass(frozen=True)
class Sample:
    """Some lines of one file.

    ``read`` counts bytes from disk; ``factor`` is how many times the file holds what the
    sample holds.
    """

    how: How
    size: int
    read: int
    factor: float
    pieces: tuple[Piece, ...] = ()
    damage: str | None = None

    @property
    def data(self) -> bytes:
        """The lines, one piece after the other."""
        return b"".join(piece.data for piece in self.pieces)


def take(
    source: Input,
    share: int,
    told: Told,
    ranges: Iterable[Range] = (),
    names: Iterable[str] = (),
    *,
    slices_only: bool = False,
) -> Sample:
    """Return a sample of a file.

    Args:
        source: the file; standard input is read up to the share.
        share: bytes that may be read.
        told: called with the number of bytes just read.
        ranges: places to read beside head, tail and slices; they use up the share too.
        names: columns that may be read of Parquet.
        slices_only: read no more than the beginning where slices cannot be taken.

    Raises:
        OSError: the file cannot be read.
    """
    if share <= 0:
        return Sample("nothing", source.size, 0, 0.0)
    if source.path is None:
        return _streamed(sys.stdin.buffer, share, told)
    if source.member is not None:
        return _of_member(source.path, source.member, 0 if slices_only else share, told)
    with source.path.open("rb", buffering=0) as file:
        return _from_disk(
            file, _Asked(source.size, share, tuple(ranges), tuple(names), slices_only), told
        )


@dataclass(frozen=True)
class _Asked:
    size: int
    share: int
    ranges: tuple[Range, ...]
    names: tuple[str, ...]
    slices_only: bool


def _from_disk(file: BinaryIO, asked: _Asked, told: Told) -> Sample:
    size, share = asked.size, asked.share
    first = _exactly(file, 0, min(size, share, FIRST), told)
    if asked.slices_only and _one_piece(first):
        return Sample("nothing", size, len(first), 0.0)
    if packed.is_packed(first):
        rest = packed.chunks(file, share - len(first), told)
        return _unpacked(chain([first], rest), size, packed.most(share))
    if size <= share:
        data = first + _exactly(file, len(first), size - len(first), told)
        return Sample("whole", size, len(data), 1.0, (Piece(0, data),))
    if first.startswith(parquet.MAGIC):
        return _rows(file, size, share, asked.names, told)
    if b"\0" in first[:_NUL_WITHIN]:
        return Sample("head", size, len(first), size / len(first), (Piece(0, first),))
    return _sliced(_Read(file, first, told), size, share, asked.ranges)


def _of_member(path: Path, member: Member, share: int, told: Told) -> Sample:
    """Return the beginning of a member: of an archive there is no middle to be read alone."""
    if not share:
        return Sample("nothing", member.size, 0, 0.0)
    with opened_member(path, member) as file:
        data = b"".join(packed.chunks(file, min(share, member.size), told))
        damage = None if file.damage is None else file.damage.reason
    if packed.is_packed(data[:FIRST]):
        return _unpacked([data], len(data) if damage else member.size, packed.most(share))
    if damage is not None or len(data) == member.size:
        return Sample("whole", member.size, len(data), 1.0, (Piece(0, data),), damage)
    lines = data[: data.rfind(b"\n") + 1]
    return Sample("head", member.size, len(data), member.size / len(data), (Piece(0, lines),))


def _one_piece(first: bytes) -> bool:
    """Say whether a file that begins so cannot be read in slices."""
    packed_or_binary = packed.is_packed(first) or b"\0" in first[:_NUL_WITHIN]
    return packed_or_binary or first.startswith(parquet.MAGIC)


def _exactly(file: BinaryIO, start: int, length: int, told: Told) -> bytes:
    """Return so many bytes from there, or as many as there are."""
    file.seek(start)
    got: list[bytes] = []
    while length > 0 and (data := file.read(length)):
        got.append(data)
        length -= len(data)
        told(len(data))
    return b"".join(got)


def _streamed(stream: BinaryIO, share: int, told: Told) -> Sample:
    """Return the beginning of what cannot be sought; how much follows is not known."""
    data = stream.read(share)
    told(len(data))
    ended = len(data) < share
    if packed.is_packed(data[:FIRST]):
        return _unpacked([data], len(data) + (not ended), packed.most(share))
    if ended:
        return Sample("whole", len(data), len(data), 1.0, (Piece(0, data),))
    return Sample("head", 0, len(data), 1.0, (Piece(0, data[: data.rfind(b"\n") + 1]),))


def _unpacked(parts: Iterable[bytes], size: int, limit: int) -> Sample:
    """Return what a compressed file begins with; all of it where that is little."""
    found = packed.unpacked(parts, limit)
    piece = (Piece(0, found.data),)
    # A stream that ends where the share did is not damaged; one that ends with the file is.
    if found.consumed >= size and (found.ended or found.damage):
        return Sample("whole", size, found.consumed, 1.0, piece, found.damage)
    return Sample("head", size, found.consumed, size / max(found.consumed, 1), piece)


def _rows(file: BinaryIO, size: int, share: int, names: tuple[str, ...], told: Told) -> Sample:
    found = parquet.sampled(file, share, names, told)
    if found is None:
        return Sample("document", size, 0, 0.0)
    return Sample("rows", size, found.read, found.factor, (Piece(0, found.data),))


def spread(size: int, share: int) -> list[Range]:
    """Return head, tail and evenly spaced slices that come to the share together."""
    end = share // 4
    middle = min((share - 2 * end) // FIRST, _MIDDLE)
    if not middle:
        return [(0, share // 2), (size - share // 2, size)]
    length = (share - 2 * end) // middle
    room = size - 2 * end
    starts = [end + room * (2 * n + 1) // (2 * middle) - length // 2 for n in range(middle)]
    return [(0, end), *((at, at + length) for at in starts), (size - end, size)]


def merged(ranges: Iterable[Range], size: int) -> list[Range]:
    """Return ranges in order, within the file, those that touch made one."""
    found: list[Range] = []
    for start, end in sorted((max(0, a), min(b, size)) for a, b in ranges):
        if start >= end:
            continue
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


class _Read:
    """Reads from a place, without reading the beginning twice, and counts the bytes."""

    def __init__(self, file: BinaryIO, first: bytes, told: Told) -> None:
        self._file = file
        self._first = first
        self._told = told
        self.total = len(first)

    def at(self, start: int, end: int) -> bytes:
        """Return the bytes from there up to the end, or as many as there are."""
        held = self._first[start:end]
        data = _exactly(self._file, start + len(held), end - start - len(held), self._told)
        self.total += len(data)
        return held + data


def _sliced(read: _Read, size: int, share: int, more: Iterable[Range]) -> Sample:
    more = list(more)
    kept = max(share - sum(b - a for a, b in more), share // 4)
    pieces = []
    for start, end in merged([*spread(size, kept), *more], size):
        data = read.at(start, end)
        piece = cut(start, data, last=end >= size)
        if piece is None and start == 0:
            # One line longer than the head: a document, or no text at all.
            return Sample("document", size, read.total, 0.0, (Piece(0, data),))
        if piece is not None:
            pieces.append(piece)
    held = sum(len(piece.data) for piece in pieces)
    return Sample("slices", size, read.total, size / max(held, 1), tuple(pieces))


def cut(start: int, data: bytes, *, last: bool) -> Piece | None:
    """Return the whole lines among bytes from the middle of a file, or None."""
    first = 0 if start == 0 else data.find(b"\n") + 1
    if start and not first:
        return None
    stop = len(data) if last else data.rfind(b"\n") + 1
    return Piece(start + first, data[first:stop]) if stop > first else None
