"""Zip: its directory, read in bounded memory, and what of it may be read."""

from __future__ import annotations

import lzma
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from itertools import pairwise
from typing import BinaryIO, Final

LONGEST_DIRECTORY: Final = 8 << 20
FAULTS: Final = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error),
    *(EOFError, NotImplementedError, RuntimeError, ValueError, OverflowError, OSError),
)
"""What reading a damaged zip raises."""
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
_END, _END_64, _TO_END_64 = b"PK\5\6", b"PK\6\6", b"PK\6\7"
_TAIL = (1 << 16) + 22 + 20
_IN_END_64 = 0xFFFFFFFF
_ENCRYPTED = 0x1
_UNIX = 3
SHARED = "shares its bytes with another member"


def directory_size(file: BinaryIO) -> int | None:
    """Return how many bytes the directory takes; None where there is no end of one."""
    size = file.seek(0, 2)
    file.seek(max(0, size - _TAIL))
    tail = file.read(_TAIL)
    end = tail.rfind(_END)
    if end < 0 or len(tail) < end + 22:
        return None
    (stated,) = struct.unpack_from("<L", tail, end + 12)
    if stated != _IN_END_64:
        return int(stated)
    link = end - 20
    if link < 0 or tail[link : link + 4] != _TO_END_64:
        return None
    (at,) = struct.unpack_from("<Q", tail, link + 8)
    if at > size:
        return None
    file.seek(at)
    data = file.read(56)
    if len(data) < 56 or not data.startswith(_END_64):
        return None
    return int(struct.unpack_from("<Q", data, 40)[0])


def is_office(entries: list[zipfile.ZipInfo]) -> bool:
    """Say whether a zip is a document of an office program, and so no archive of logs."""
    names = {entry.filename for entry in entries}
    return "[Content_Types].xml" in names or "mimetype" in names


def refused(entry: zipfile.ZipInfo) -> str | None:
    """Say why a member is not read; None where it is."""
    mode = entry.external_attr >> 16 if entry.create_system == _UNIX else 0
    if stat.S_ISLNK(mode):
        return "symbolic link: not followed"
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        return "device: not read"
    if entry.flag_bits & _ENCRYPTED:
        return "encrypted member"
    return None if entry.compress_type in _METHODS else "member packed by an unknown method"


def overlapping(entries: list[zipfile.ZipInfo]) -> Iterator[zipfile.ZipInfo]:
    """Yield members whose bytes are those of others too: so a small file unfolds without end."""
    for before, entry in pairwise(sorted(entries, key=lambda entry: entry.header_offset)):
        if before.header_offset + before.compress_size > entry.header_offset:
            yield before
