"""The bytes of one member of an archive.

An archive is gone through once as long as its members are asked for in its order: the place
reached is kept, one for each thread, until another archive is opened.
"""

from __future__ import annotations

import threading
import weakref
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TypeVar, cast

from forensics.sources.archives import zips
from forensics.sources.archives.listing import Member, is_zip, stream
from forensics.sources.archives.tar import Tar
from forensics.sources.packing import BOMB, DamagedStreamError, is_bomb

_CHANGED = "the archive was changed while it was read"
_DAMAGED = "damaged member of a zip"
_PIECE = 4 << 10
"""Bytes of a zip unpacked at a time: some methods unfold all that they are given at once."""
_T = TypeVar("_T")


class _TarWalk:
    """A tar, as far as it was gone through."""

    def __init__(self, file: BinaryIO) -> None:
        self._tar = Tar(stream(file))
        self._next = 0

    def reaches(self, place: int) -> bool:
        """Say whether a member lies ahead."""
        return place >= self._next

    def go(self, place: int) -> None:
        """Go to a member."""
        while self._next <= place:
            self._next += 1
            if self._tar.next() is None:
                raise DamagedStreamError(_CHANGED, 0)

    def read(self, size: int) -> bytes:
        """Return bytes of the member, fewer than asked for at its end and before a damage."""
        return self._tar.read(size)


class _ZipWalk:
    """A zip: any member can be gone to."""

    def __init__(self, file: BinaryIO) -> None:
        self._zip = _sound(lambda: zipfile.ZipFile(file))

    def reaches(self, _: int) -> bool:
        """Say that every member can be reached."""
        return True

    def go(self, place: int) -> None:
        """Go to a member."""
        infos = self._zip.infolist()
        if place >= len(infos):
            raise DamagedStreamError(_CHANGED, 0)
        self._packed, self._given = infos[place].compress_size, 0
        self._damage: DamagedStreamError | None = None
        self._file = cast("zipfile.ZipExtFile", _sound(lambda: self._zip.open(infos[place])))

    def read(self, size: int) -> bytes:
        """Return bytes of the member, fewer than asked for at its end and before a damage."""
        found: list[bytes] = []
        try:
            while size > 0 and (data := self._piece(min(size, _PIECE))):
                found.append(data)
                size -= len(data)
        except DamagedStreamError as error:
            self._damage = error
            if not found:
                raise
        return b"".join(found)

    def _piece(self, size: int) -> bytes:
        if self._damage is not None:
            raise self._damage
        data = _sound(lambda: self._file.read1(size))
        self._given += len(data)
        if is_bomb(self._packed, self._given):
            raise DamagedStreamError(BOMB, self._given)
        return data


def _sound(read: Callable[[], _T]) -> _T:
    try:
        return read()
    except zips.FAULTS:
        raise DamagedStreamError(_DAMAGED, 0) from None


class _Opened:
    """An archive file that is open, and closed when nothing holds it any more."""

    def __init__(self, path: Path, key: object) -> None:
        file = path.open("rb")
        weakref.finalize(self, file.close)
        self.key = key
        self.walk = _ZipWalk(file) if is_zip(file) else _TarWalk(file)


class _Kept(threading.local):
    opened: _Opened | None = None


_KEPT = _Kept()


class MemberStream:
    """The bytes of one member, read forward; ``damage`` says why they end too early."""

    def __init__(self, opened: _Opened | None, damage: DamagedStreamError | None = None) -> None:
        self._opened = opened
        self._given = 0
        self.damage = damage

    def read(self, size: int) -> bytes:
        """Return so many bytes, fewer only at the end and before a damage, then none."""
        if self._opened is None or self.damage is not None:
            return b""
        try:
            data = self._opened.walk.read(size)
        except DamagedStreamError as error:
            self.damage = DamagedStreamError(error.reason, self._given)
            return b""
        self._given += len(data)
        return data

    def close(self) -> None:
        """Keep the archive open, at the place reached, for the member that comes next."""
        if self._opened is not None and self.damage is None:
            _KEPT.opened = self._opened
        self._opened = None


def open_member(path: Path, member: Member) -> MemberStream:
    """Return the bytes of a member; there are none where it is refused.

    Raises:
        OSError: the archive cannot be opened.
    """
    if member.refused is not None:
        return MemberStream(None)
    there = path.stat()
    key = (path, there.st_size, there.st_mtime_ns)
    # Taken out while it is used: nobody else moves it on.
    kept, _KEPT.opened = _KEPT.opened, None
    try:
        if kept is None or kept.key != key or not kept.walk.reaches(member.place):
            kept = _Opened(path, key)
        kept.walk.go(member.place)
    except DamagedStreamError as error:
        return MemberStream(None, error)
    return MemberStream(kept)


@contextmanager
def opened_member(path: Path, member: Member) -> Iterator[MemberStream]:
    """Open a member for the length of a block."""
    found = open_member(path, member)
    try:
        yield found
    finally:
        found.close()
