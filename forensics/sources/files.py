"""From what the user named to the list of files that will be read."""

from __future__ import annotations

import glob
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path, PurePath

from forensics.errors import NoInputError

STDIN = "-"


@dataclass(frozen=True)
class Input:
    """One input: its number in this run, its path (None for stdin) and its shown name.

    ``label`` is as much of the end of its path as tells it from the other inputs.
    """

    number: int
    path: Path | None
    name: str
    label: str = ""

    @property
    def size(self) -> int:
        """Size in bytes; 0 where it cannot be known beforehand."""
        try:
            return self.path.stat().st_size if self.path is not None else 0
        except OSError:
            return 0


def expand(*logs: str | os.PathLike[str], leave_out: Path | None = None) -> list[Input]:
    """Return the files behind paths, folders, globs and ``-``, each once, in name order.

    ``leave_out`` is the incident file, which may lie beside the logs and is none.

    Raises:
        NoInputError: a path does not exist, a glob or folder holds no file, or
            nothing was given.
    """
    if not logs:
        raise NoInputError("no log was named")
    found: dict[str, Path | None] = {}
    for log in logs:
        text = os.fspath(log)
        for path in [None] if text == STDIN else _named(text):
            if path is None or leave_out is None or path.resolve() != leave_out.resolve():
                found.setdefault(STDIN if path is None else str(path), path)
    if not found:
        raise NoInputError("no log was named")
    once: dict[str, tuple[str, Path | None]] = {}
    for name, path in sorted(found.items(), key=lambda item: item[0]):
        once.setdefault(STDIN if path is None else os.path.realpath(path), (name, path))
    labels = _labels([name for name, _ in once.values()])
    return [
        Input(number, path, name, labels[name]) for number, (name, path) in enumerate(once.values())
    ]


def _labels(names: list[str]) -> dict[str, str]:
    """Return the shortest end of each name, in whole parts, that no other name has."""
    labels: dict[str, str] = {}
    depth = 1
    while left := [name for name in names if name not in labels]:
        ends = {name: "/".join(PurePath(name).parts[-depth:]) for name in left}
        shared = Counter(ends.values())
        labels |= {
            name: end
            for name, end in ends.items()
            if shared[end] == 1 or depth >= len(PurePath(name).parts)
        }
        depth += 1
    return labels


def _named(text: str) -> list[Path]:
    try:
        return _files_of(text)
    except OSError as error:
        raise NoInputError(f"{text}: cannot be read ({error.strerror})") from None


def _files_of(text: str) -> list[Path]:
    path = Path(text)
    if path.is_dir():
        inside = _inside(path)
        if not inside:
            raise NoInputError(f"{text}: the folder holds no file")
        return inside
    if path.exists():
        return [path]
    if glob.has_magic(text):
        matched = sorted(Path(item) for item in glob.glob(text, recursive=True))
        inside = [file for item in matched for file in (_inside(item) if item.is_dir() else [item])]
        if not inside:
            raise NoInputError(f"{text}: no file matches")
        return inside
    raise NoInputError(f"{text}: no such file or folder")


def _inside(folder: Path) -> list[Path]:
    return sorted(item for item in folder.rglob("*") if _is_log(item, folder))


def _is_log(item: Path, folder: Path) -> bool:
    """Leave out what file managers and version control put beside logs."""
    hidden = any(part.startswith(".") for part in item.relative_to(folder).parts)
    return item.is_file() and not hidden
