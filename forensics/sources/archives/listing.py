"""What an archive holds: which members are read, which are not, and why."""

from __future__ import annotations

import re
import stat
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, Literal

from forensics.shown import shown
from forensics.sources.archives import zips
from forensics.sources.archives.streams import OnDisk, Stream, Unpacked
from forensics.sources.archives.tar import BLOCK, FOLDER, Tar
from forensics.sources.packing import DamagedStreamError, packer

MOST_MEMBERS = 20_000
_TOO_MANY = f"archive of more than {MOST_MEMBERS:,} entries: the rest is not read"
_LONGEST_NAME = 1_024
_LONGEST_PART = 255
_LEADS_OUT = "its path leads out of the archive: not read"
_LONG_NAME = f"its name is longer than {_LONGEST_NAME:,} bytes: not read"
_SET = "part of an evidence set: unpack the set and name it"
_LEDGER = re.compile(r"(.*/)?inputs/[0-9a-f]{16}-[0-9a-f]{8}\.json")
_OFFICE = b"[Content_Types].xml"
Kind = Literal["tar", "zip"]


@dataclass(frozen=True)
class Member:
    """One file of an archive: its name, unique there, its place among the entries, its size.

    ``refused`` says why it is not read.
    """

    name: str
    place: int
    size: int
    refused: str | None = None


@dataclass(frozen=True)
class Contents:
    """What an archive holds.

    ``ignored`` counts entries that are no files, ``faults`` says what is wrong with the
    archive itself.
    """

    title: str
    members: tuple[Member, ...] = field(default=(), repr=False)
    ignored: tuple[tuple[str, int], ...] = ()
    faults: tuple[str, ...] = ()


def kind(head: bytes) -> Kind | None:
    """Say what archive begins so, unpacked as far as it is compressed."""
    if head[257:262] == b"ustar" and b"\0" in head[:BLOCK]:
        return "tar"
    if _OFFICE in head:
        return None
    return "zip" if head.startswith((b"PK\3\4", b"PK\5\6")) else None


def contents(path: Path) -> Contents | None:
    """Return what an archive holds, or None where a file is none."""
    try:
        there = path.stat()
        if not stat.S_ISREG(there.st_mode):
            return None  # what a pipe gives can be read once
        return _contents(path, there.st_size, there.st_mtime_ns)
    except OSError:
        return None


@lru_cache(maxsize=4_096)
def _contents(path: Path, _size: int, _changed: int) -> Contents | None:
    with path.open("rb") as file:
        packed = packer(file.read(8))
        found = kind(_head(file, packed))
        if found == "zip":
            return _zip(file) if packed is None else None
        if found is None:
            return None
        file.seek(0)
        return _tar(stream(file), f"tar archive, {packed}" if packed else "tar archive")


def _head(file: BinaryIO, packed: str | None) -> bytes:
    file.seek(0)
    if packed is None:
        return file.read(BLOCK)
    try:
        return Unpacked(file).read(BLOCK)
    except DamagedStreamError:
        return b""


def is_zip(file: BinaryIO) -> bool:
    """Say whether a file, which is an archive, is a zip; it is then at its beginning again."""
    found = kind(file.read(BLOCK)) == "zip"
    file.seek(0)
    return found


def stream(file: BinaryIO) -> Stream:
    """Return the bytes of a tar that may be compressed, from the beginning of the file."""
    first = file.read(8)
    file.seek(0)
    return OnDisk(file) if packer(first) is None else Unpacked(file)


def _tar(opened: Stream, title: str) -> Contents:
    tar, entries, faults = Tar(opened), list[tuple[str, int, str | None]](), []
    try:
        while (entry := tar.next()) is not None:
            if len(entries) == MOST_MEMBERS:
                faults.append(_TOO_MANY)
                break
            entries.append((entry.name.decode("utf-8", "replace"), entry.size, entry.refused))
    except DamagedStreamError as error:
        faults.append(error.reason)
    return _told(title, entries, faults)


def _zip(file: BinaryIO) -> Contents | None:
    title, size = "zip archive", zips.directory_size(file)
    if size is None or size > zips.LONGEST_DIRECTORY:
        reason = "its directory is missing" if size is None else "its directory is too long"
        return Contents(title, faults=(f"damaged zip: {reason}",))
    try:
        with zipfile.ZipFile(file) as opened:
            infos = opened.infolist()
    except zips.FAULTS:
        return Contents(title, faults=("damaged zip: its directory cannot be read",))
    if zips.is_office(infos):
        return None
    shared = {id(info) for info in zips.overlapping(infos)}
    entries = [
        (info.filename, info.file_size, FOLDER if info.is_dir() else _refused(info, shared))
        for info in infos[:MOST_MEMBERS]
    ]
    return _told(title, entries, [_TOO_MANY] if len(infos) > MOST_MEMBERS else [])


def _refused(info: zipfile.ZipInfo, shared: set[int]) -> str | None:
    return zips.SHARED if id(info) in shared else zips.refused(info)


def _told(
    title: str, entries: Iterable[tuple[str, int, str | None]], faults: list[str]
) -> Contents:
    found, ignored, taken = list[Member](), Counter[str](), set[str]()
    for place, (raw, size, refused) in enumerate(entries):
        name, reason = _named(raw, place)
        if refused == FOLDER or _is_hidden(name):
            ignored[FOLDER if refused == FOLDER else "hidden file"] += 1
            continue
        name = _unique(name, taken)
        taken.add(name)
        why = reason or refused
        found.append(Member(name, place, 0 if why else size, why))
    members = tuple(_without_sets(found))
    return Contents(title, members, tuple(sorted(ignored.items())), tuple(faults))


def _named(raw: str, place: int) -> tuple[str, str | None]:
    """Return the path below the archive, and what is wrong with it."""
    raw = raw.encode("utf-8", "surrogateescape").decode("utf-8", "replace").replace("\0", "�")
    parts = [part for part in raw.split("/") if part not in ("", ".")]
    if not parts or len(raw.encode()) > _LONGEST_NAME or _longest(parts) > _LONGEST_PART:
        return f"member {place + 1}", _LONG_NAME if parts else "it has no name"
    if ".." in parts:
        return shown("/".join("(up)" if p == ".." else p for p in parts)), _LEADS_OUT
    return shown("/".join(parts)), None


def _longest(parts: list[str]) -> int:
    return max(len(part.encode()) for part in parts)


def _is_hidden(name: str) -> bool:
    """What file managers and version control put beside logs is left out, as in folders."""
    return any(part.startswith(".") or part == "__MACOSX" for part in name.split("/"))


def _unique(name: str, taken: set[str]) -> str:
    """Tell apart what an archive holds twice under one name: both are read."""
    if name not in taken:
        return name
    number = 2
    while f"{name}#{number}" in taken:
        number += 1
    return f"{name}#{number}"


def _without_sets(members: list[Member]) -> Iterator[Member]:
    """Refuse parts of evidence sets: without the rest, which is checked, they mean nothing."""
    sets = {match[1] or "" for m in members if (match := _LEDGER.fullmatch(m.name))}
    for member in members:
        if any(member.name.startswith(folder) for folder in sets):
            yield replace(member, size=0, refused=_SET)
        else:
            yield member
