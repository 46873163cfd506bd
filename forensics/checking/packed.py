"""The beginning of a compressed file, unpacked up to a limit."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO, cast

from forensics.checking.memory import in_place_of
from forensics.sources.archives.members import MemberStream
from forensics.sources.blocks import Opened
from forensics.sources.files import Input
from forensics.sources.packing import DamagedStreamError
from forensics.sources.returns import with_line_feeds

_AT_LEAST = 8 << 20
"""Bytes unpacked of any file: a small one is then mostly read whole."""
_TIMES = 8
_CHUNK = 64 << 10
_BOM = b"\xef\xbb\xbf"
_NO_FILE = Input(0, None, "sample")


@dataclass(frozen=True)
class Unpacked:
    """Plain bytes, how many packed bytes they came from, and whether that was all.

    ``damage`` says why the stream ended where it should have gone on.
    """

    data: bytes = field(repr=False)
    consumed: int
    ended: bool
    damage: str | None = None


def most(share: int) -> int:
    """Return how many bytes may be unpacked from a share of packed ones."""
    return max(_AT_LEAST, _TIMES * share)


def chunks(
    file: BinaryIO | MemberStream, share: int, told: Callable[[int], object]
) -> Iterator[bytes]:
    """Yield the file's bytes in small chunks, no more than the share."""
    while share > 0 and (data := file.read(min(_CHUNK, share))):
        told(len(data))
        share -= len(data)
        yield data


def is_packed(first: bytes) -> bool:
    """Say whether what a reader gets to see are other bytes than those on disk."""
    try:
        with Opened(in_place_of(_NO_FILE, first)) as opened:
            bare = first.removeprefix(_BOM)
            # Line ends are no packing.
            return opened.head() not in (bare, with_line_feeds(bare))
    except DamagedStreamError:
        return True


def unpacked(parts: Iterable[bytes], limit: int) -> Unpacked:
    """Return whole lines from what the parts unpack to, up to the limit in bytes."""
    stream = _Parts(iter(parts))
    held: list[bytes] = []
    size = 0
    try:
        with Opened(replace(_NO_FILE, path=cast("Path", stream))) as opened:
            for block in opened.blocks():
                held.append(block.data)
                size += len(block.data)
                if size >= limit:
                    return Unpacked(b"".join(held), stream.given, ended=False)
    except DamagedStreamError as error:
        return Unpacked(b"".join(held), stream.given, ended=False, damage=error.reason)
    return Unpacked(b"".join(held), stream.given, ended=True)


class _Parts(io.RawIOBase):
    """A path to open, and the stream it opens: hands out parts as they come.

    No more is taken from the file than gets unpacked.
    """

    def __init__(self, parts: Iterator[bytes]) -> None:
        self._parts = parts
        self._held = b""
        self.given = 0

    def open(self, _: str = "rb") -> _Parts:
        return self

    def read(self, size: int = -1) -> bytes:
        if not self._held:
            self._held = next(self._parts, b"")
        size = _CHUNK if size < 0 else min(size, _CHUNK)
        data, self._held = self._held[:size], self._held[size:]
        self.given += len(data)
        return data
