"""Which logs are copies of others: the same bytes, or the start of a longer one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

_HEAD = 256
"""Bytes by which files are told apart before any two are compared."""
_PIECE = 1 << 16
_MANY = 64
"""Files that begin alike, as those of a fleet may: of more only equal sizes are compared."""


def copies(files: Mapping[str, Path]) -> dict[str, str]:
    """Return, by its name, the log that each copy among some files is a copy of."""
    alike: dict[bytes, list[str]] = {}
    for name, path in sorted(files.items()):
        head = _head(path)
        if head:
            alike.setdefault(head, []).append(name)
    found: dict[str, str] = {}
    for names in alike.values():
        for some in _comparable(names, files):
            found |= _among({name: files[name] for name in some}) if len(some) > 1 else {}
    return found


def _comparable(names: list[str], files: Mapping[str, Path]) -> Iterable[list[str]]:
    if len(names) <= _MANY:
        return [names]
    sizes: dict[int, list[str]] = {}
    for name in names:
        sizes.setdefault(_size(files[name]), []).append(name)
    return sizes.values()


def _among(files: Mapping[str, Path]) -> dict[str, str]:
    originals: list[str] = []
    found = {}
    for name in sorted(files, key=lambda name: (-_size(files[name]), name)):
        other = _first(files, name, originals)
        if other is None:
            originals.append(name)
        else:
            found[name] = other
    return found


def _first(files: Mapping[str, Path], name: str, others: Iterable[str]) -> str | None:
    """Return the first of some longer files that begins with all bytes of a file."""
    return next((other for other in others if _begins(files[other], files[name])), None)


def _begins(longer: Path, shorter: Path) -> bool:
    try:
        with longer.open("rb") as one, shorter.open("rb") as other:
            while piece := other.read(_PIECE):
                if one.read(len(piece)) != piece:
                    return False
    except OSError:
        return False
    return True


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD)
    except OSError:
        return b""


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
