"""A path into object storage that is used as one on disk is."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Generator, Iterator
from fnmatch import fnmatchcase
from pathlib import Path, PosixPath
from typing import IO, Any

from forensics.errors import UsageError

SCHEME = "s3://"
_COLLAPSED = "s3:/"
"""What paths make of the scheme: they know no empty part."""
_BUCKET = re.compile(r"[A-Za-z0-9._-]+")
_PARAMETERS = re.compile(r"\?.*=")
_RECURSIVE = "**"


class ObjectPath(PosixPath):
    """``s3://bucket/key``: an object, or what lies below a prefix as in a folder.

    Only what is asked of the paths of logs and of evidence sets is there. Errors are those of
    the system, with the address as their file name.
    """

    def __str__(self) -> str:
        """Return the address."""
        return super().__str__().replace(_COLLAPSED, SCHEME, 1)

    def __repr__(self) -> str:
        """Return the address, quoted."""
        return f"ObjectPath({str(self)!r})"

    def __fspath__(self) -> str:
        """Return the address."""
        return str(self)

    @property
    def key(self) -> str:
        """Bucket and key, without the scheme; empty above a bucket."""
        return "/".join(self.parts[1:])

    @property
    def parents(self) -> tuple[ObjectPath, ...]:
        """The prefixes above, up to the bucket."""
        return tuple(path for path in super().parents if path.key)

    def resolve(self, *_: Any, **__: Any) -> ObjectPath:
        """Return itself: an address is whole, and has no links."""
        return self

    def absolute(self) -> ObjectPath:
        """Return itself."""
        return self

    def is_symlink(self) -> bool:
        """Say no."""
        return False

    def stat(self, **_: Any) -> os.stat_result:
        """Return kind, size and time of change.

        Raises:
            FileNotFoundError: there is neither an object nor anything below.
            OSError: it cannot be asked.
        """
        from forensics.objects import store

        found = store.facts(self.key)
        if found is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self))
        mode = stat.S_IFDIR if found.folder else stat.S_IFREG
        changed = found.changed // 10**9
        values = (mode, 0, 0, 1, 0, 0, found.size, changed, changed, changed)
        return os.stat_result(values, {"st_mtime_ns": found.changed})

    def exists(self, **_: Any) -> bool:
        """Say whether there is an object, or anything below."""
        return self._is(stat.S_ISDIR) or self._is(stat.S_ISREG)

    def is_dir(self, **_: Any) -> bool:
        """Say whether something lies below."""
        return self._is(stat.S_ISDIR)

    def is_file(self, **_: Any) -> bool:
        """Say whether it is an object."""
        return self._is(stat.S_ISREG)

    def _is(self, kind: Any) -> bool:
        try:
            return bool(kind(self.stat().st_mode))
        except FileNotFoundError:
            return False

    def open(self, mode: str = "r", *_: Any, **__: Any) -> IO[Any]:  # type: ignore[override]
        """Open an object to read its bytes."""
        from forensics.objects import store

        if mode != "rb":
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(self))
        return store.opened(self.key)

    def read_bytes(self) -> bytes:
        """Return the bytes of an object."""
        from forensics.objects import store

        return store.read(self.key)

    def write_bytes(self, data: Any) -> int:
        """Write an object, in place of one that is there; it appears whole or not at all."""
        from forensics.objects import store

        return store.write(self.key, data)

    def unlink(self, missing_ok: bool = True) -> None:  # noqa: ARG002 -- nobody is told there
        """Remove an object."""
        from forensics.objects import store

        store.remove(self.key)

    def below(self) -> list[ObjectPath]:
        """Return all objects below, sorted."""
        from forensics.objects import store

        return [ObjectPath(SCHEME + key) for key in store.listed(self.key)]

    def iterdir(self) -> Generator[ObjectPath, None, None]:
        """Yield what lies right below."""
        depth = len(self.parts)
        names = {path.parts[depth] for path in self.below()}
        yield from (self / name for name in sorted(names))

    def glob(self, pattern: str, **_: Any) -> Generator[ObjectPath, None, None]:
        """Yield objects, and what they lie in, whose path below this one is like a pattern."""
        depth, wanted = len(self.parts), pattern.split("/")
        below = self.below()
        found = {part for path in below for part in (path, *path.parents)}
        own = [path for path in found if len(path.parts) > depth]
        yield from sorted(path for path in own if _alike(path.parts[depth:], wanted))


def _alike(parts: tuple[str, ...], wanted: list[str]) -> bool:
    if not wanted:
        return not parts
    if wanted[0] == _RECURSIVE:
        return any(_alike(parts[at:], wanted[1:]) for at in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], wanted[0]) and _alike(parts[1:], wanted[1:])


def place(text: str | os.PathLike[str]) -> Path:
    """Return the path that a text names: on disk, or in object storage.

    Raises:
        UsageError: an address of object storage with credentials or options in it, which
            would be kept wherever the names of inputs are.
    """
    name = os.fspath(text)
    if not name.startswith(SCHEME):
        return Path(name)
    bucket = name.removeprefix(SCHEME).partition("/")[0]
    if not _BUCKET.fullmatch(bucket) or _PARAMETERS.search(name):
        raise UsageError(
            "an s3:// address is a bucket and a key alone; who may read it is told by AWS_…"
            " variables of the environment, or a profile"
        )
    return ObjectPath(name)


def place_from(folder: str | os.PathLike[str], name: str) -> Path:
    """Return the path that a name meant where a folder was the current one."""
    found = place(name)
    return found if isinstance(found, ObjectPath) else Path(folder, found)


def walk(folder: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield what :func:`os.walk` yields, of a folder on disk or in object storage."""
    if not isinstance(folder, ObjectPath):
        yield from os.walk(folder)
        return
    inside: dict[ObjectPath, tuple[set[str], set[str]]] = {folder: (set(), set())}
    for path in folder.below():
        inside.setdefault(path.parent, (set(), set()))[1].add(path.name)
        here = path.parent
        while here != folder:
            inside.setdefault(here.parent, (set(), set()))[0].add(here.name)
            here = here.parent
    left = [folder]
    while left:
        here = left.pop()
        folders, files = (sorted(names) for names in inside[here])
        yield str(here), folders, files
        left += [here / name for name in reversed(folders)]
