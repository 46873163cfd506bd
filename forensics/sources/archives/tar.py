"""Tar, read forward in bounded memory: ustar, pax and the forms of GNU tar.

Written out, as the standard library's reader holds whatever size a header states.
"""

from __future__ import annotations

from dataclasses import dataclass

from forensics.sources.archives.streams import ENDS_EARLY, Stream
from forensics.sources.packing import DamagedStreamError

BLOCK = 512
_ZEROS = bytes(BLOCK)
_LONGEST_EXTENSION = 1 << 20
_MOST_EXTENSIONS = 16
_BASE_256 = 0x80
DAMAGED = "damaged header: what follows in the archive is not read"

FOLDER = "folder"
SPARSE = "sparse file: its holes are not kept in an archive's order"
REFUSED = {
    b"1": "hard link: not followed",
    b"2": "symbolic link: not followed",
    b"3": "device: not read",
    b"4": "device: not read",
    b"6": "pipe: not read",
    b"S": SPARSE,
    b"M": "part of a file that another volume begins",
}
_FOLDERS = (b"5", b"D", b"V")
_FILES = (b"0", b"\0", b"7")
_UNKNOWN = "entry of an unknown kind"


@dataclass(frozen=True)
class Entry:
    """One entry: its name as stored, its size, and why it holds no file to be read.

    ``refused`` is :data:`FOLDER` for what has no bytes of its own.
    """

    name: bytes
    size: int
    refused: str | None


class Tar:
    """The entries of a tar, one after the other; of the current one the bytes can be read."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._left = 0
        self._padding = 0

    def next(self) -> Entry | None:
        """Go to the next entry; None at the end.

        Raises:
            DamagedStreamError: a header is damaged, or the archive ends early.
        """
        self._stream.skip(self._left + self._padding)
        self._left = self._padding = 0
        known: dict[bytes, bytes] = {}
        for _ in range(_MOST_EXTENSIONS):
            header = self._header()
            if header is None:
                return None
            kind, size = header[156:157], _number(header[124:136], self._stream.at)
            if kind in b"LKxXgA":
                known |= self._extension(kind, size)
                continue
            return self._entry(header, kind, size, known)
        raise DamagedStreamError(DAMAGED, self._stream.at)

    def read(self, size: int) -> bytes:
        """Return so many bytes of the current entry, fewer at its end and before a damage.

        Raises:
            DamagedStreamError: the archive is damaged there, or ends.
        """
        wanted = min(size, self._left)
        data = self._stream.read(wanted)
        self._left -= len(data)
        if wanted and not data:
            raise DamagedStreamError(ENDS_EARLY, self._stream.at)
        return data

    def _header(self) -> bytes | None:
        """Return the next header. Blocks of zeros stand at the end, or between joined archives."""
        while data := self._stream.read(BLOCK):
            if len(data) < BLOCK:
                raise DamagedStreamError(ENDS_EARLY, self._stream.at)
            if data != _ZEROS:
                if not _is_sound(data):
                    raise DamagedStreamError(DAMAGED, self._stream.at)
                return data
        return None

    def _extension(self, kind: bytes, size: int) -> dict[bytes, bytes]:
        """Return what an entry says of the one behind it."""
        if size > _LONGEST_EXTENSION:
            raise DamagedStreamError(DAMAGED, self._stream.at)
        data = self._stream.read(size)
        if len(data) < size:
            raise DamagedStreamError(ENDS_EARLY, self._stream.at)
        self._stream.skip(-size % BLOCK)
        if kind == b"L":
            return {b"path": data.split(b"\0", 1)[0]}
        return _records(data) if kind in b"xX" else {}

    def _entry(self, header: bytes, kind: bytes, size: int, known: dict[bytes, bytes]) -> Entry:
        stated = known.get(b"size", b"%d" % size)
        if not stated.isdigit() or len(stated) > 18:
            raise DamagedStreamError(DAMAGED, self._stream.at)
        name = known.get(b"path") or _name(header)
        refused = REFUSED.get(kind, None if kind in _FILES else _UNKNOWN)
        if kind in _FOLDERS or (kind in _FILES and name.endswith(b"/")):
            refused = FOLDER
        elif any(key.startswith(b"GNU.sparse") for key in known):
            refused = SPARSE
        # Links and devices may state a size, and have no bytes.
        self._left = 0 if kind in b"123456" else int(stated)
        self._padding = -self._left % BLOCK
        return Entry(name, self._left, refused)


def _name(header: bytes) -> bytes:
    name = header[:100].split(b"\0", 1)[0]
    prefix = header[345:500].split(b"\0", 1)[0] if header[257:263] == b"ustar\0" else b""
    return prefix + b"/" + name if prefix else name


def _number(field: bytes, at: int) -> int:
    """Return a size: octal digits, or eleven bytes where it has more."""
    if field[0] & _BASE_256:
        found = int.from_bytes(bytes([field[0] & 0x7F]) + field[1:], "big")
        if found < 1 << 62:
            return found
        raise DamagedStreamError(DAMAGED, at)
    digits = field.strip(b" \0")
    if not digits:
        return 0
    if digits.strip(b"01234567"):
        raise DamagedStreamError(DAMAGED, at)
    return int(digits, 8)


def _is_sound(header: bytes) -> bool:
    """Say whether a header has the sum that it states."""
    digits = header[148:156].strip(b" \0")
    if not digits or digits.strip(b"01234567"):
        return False
    return int(digits, 8) == sum(header) - sum(header[148:156]) + 8 * ord(" ")


def _records(data: bytes) -> dict[bytes, bytes]:
    """Return what a pax header states; of what is malformed the rest is left out."""
    found = {}
    while data:
        length, _, rest = data.partition(b" ")
        if not length.isdigit() or len(length) > len(str(_LONGEST_EXTENSION)):
            break
        record = rest[: int(length) - len(length) - 1]
        key, _, value = record.partition(b"=")
        found[key] = value.removesuffix(b"\n")
        if int(length) <= len(length) + 1:
            break
        data = data[int(length) :]
    return found
