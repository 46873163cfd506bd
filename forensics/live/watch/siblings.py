"""The files beside a log: which of them may be generations of it, by their names.

``LOG.1``, ``LOG.1.gz``, ``LOG-20260901``, ``LOG.2026-09-01.gz``, ``LOG.old`` and, for a log
``NAME.EXT``, ``NAME.1.EXT`` and ``NAME-2026-09-01.EXT``. A name alone says that a file may be
one, never that it is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from forensics.live.watch.place import Copy, Identity

_PACKED = re.compile(r"(.+)\.(?:gz|bz2|xz|zst)")
_MOVED = (
    re.compile(r"(.+)\.(?:\d[\d._T:-]*|(?:old|bak|prev|orig|save)\w*)"),
    re.compile(r"(.+)[-_]\d{6,}[\d._T:-]*"),
    re.compile(r"(.+)[-_]\d{4}-\d\d-\d\d[\d._T:-]*"),
)
_DATED = re.compile(r"(.+?)[-_.]\d{4}-?\d\d-?\d\d[\d._T:-]*(\.[A-Za-z]\w*)")
_COUNTED = re.compile(r"(.+)\.\d{1,4}(\.[A-Za-z]\w*)")


@dataclass(frozen=True)
class Beside:
    """A file that lies beside a log, which is called ``log`` there."""

    path: Path
    identity: Identity
    size: int
    mtime: int
    log: str = ""

    @property
    def named(self) -> bool:
        """Say whether it is called like a generation of the log."""
        return self.log in bases(self.path.name)

    @property
    def position(self) -> int | None:
        """How many rotations ago it was the log, where its name counts them."""
        return position(self.log, self.path.name)

    @property
    def copy(self) -> Copy:
        """What is kept of it."""
        return Copy(*self.identity, self.size, self.mtime)


@lru_cache(maxsize=1 << 16)
def bases(name: str) -> tuple[str, ...]:
    """Return the names of the logs that a file of this name may be a generation of."""
    found: list[str] = []
    packed = _PACKED.fullmatch(name)
    if packed:
        name = packed[1]
        found.append(name)
    within = _DATED.fullmatch(name) or _COUNTED.fullmatch(name)
    if within:
        found.append(within[1] + within[2])
    while moved := next(filter(None, (one.fullmatch(name) for one in _MOVED)), None):
        name = moved[1]
        found.append(name)
    return tuple(found)


def position(base: str, name: str) -> int | None:
    """Return how many rotations ago a file was the log, where its name counts them."""
    packed = _PACKED.fullmatch(name)
    plain = packed[1] if packed else name
    stem, dot, end = base.rpartition(".")
    if plain.startswith(f"{base}."):
        rest = plain.removeprefix(f"{base}.")
    else:
        rest = plain.removeprefix(f"{stem}.").removesuffix(f"{dot}{end}")
    counts = rest.isdecimal() and len(rest) < 5 and not rest.startswith("0")  # else a date
    return int(rest) if counts else None


def at(path: Path) -> Beside | None:
    """Return the file of a path; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return Beside(path, (found.st_dev, found.st_ino), found.st_size, found.st_mtime_ns)


def beside(path: Path, others: frozenset[Path]) -> list[Beside]:
    """Return the files in the folder of a log that are no other log's, oldest first.

    Where the log is a link, also those beside what it leads to: there it is moved aside.
    """
    there = Path(os.path.realpath(path)) if path.is_symlink() else path
    found = {one.path: one for place in {path, there} for one in _near(place, others)}
    found.pop(there, None)
    return sorted(found.values(), key=lambda one: (one.mtime, one.path))


def _near(path: Path, others: frozenset[Path]) -> list[Beside]:
    try:
        with os.scandir(path.parent) as entries:
            found = list(_files(entries, path))
    except OSError:
        return []
    theirs = {other.name for other in others if other.parent == path.parent} - {path.name}
    return [
        one
        for one in found
        if path.name in bases(one.path.name)
        or theirs.isdisjoint((one.path.name, *bases(one.path.name)))
    ]


def _files(entries: Iterator[os.DirEntry[str]], but: Path) -> Iterator[Beside]:
    for entry in entries:
        try:
            if entry.name == but.name or not entry.is_file(follow_symlinks=False):
                continue
            found = entry.stat(follow_symlinks=False)
        except OSError:
            continue  # moved on meanwhile
        identity = found.st_dev, found.st_ino
        size, changed = found.st_size, found.st_mtime_ns
        yield Beside(but.parent / entry.name, identity, size, changed, but.name)
