"""From what the user named to the list of files that will be read."""

from __future__ import annotations

import glob
import os
from dataclasses import dataclass
from pathlib import Path

from forensics.errors import NoInputError

STDIN = "-"


@dataclass(frozen=True)
class Input:
    """One input: its number in this run, its path (None for stdin) and its shown name."""

    number: int
    path: Path | None
    name: str

    @property
    def size(self) -> int:
        """Size in bytes; 0 where it cannot be known beforehand."""
        return self.path.stat().st_size if self.path is not None else 0


def expand(*logs: str | os.PathLike[str]) -> list[Input]:
    """Return the files behind paths, folders, globs and ``-``, each once, in name order.

    Raises:
        NoInputError: a path does not exist, a glob or folder holds no file, or
            nothing was given.
    """
    if not logs:
        raise NoInputError("no log was named")
    found: dict[str, Path | None] = {}
    for log in logs:
        text = os.fspath(log)
        for path in [None] if text == STDIN else _files_of(text):
            found.setdefault(STDIN if path is None else str(path), path)
    ordered = sorted(found.items(), key=lambda item: item[0])
    return [Input(number, path, name) for number, (name, path) in enumerate(ordered)]


def _files_of(text: str) -> list[Path]:
    path = Path(text)
    if path.is_dir():
        inside = sorted(item for item in path.rglob("*") if _is_log(item, path))
        if not inside:
            raise NoInputError(f"{text}: the folder holds no file")
        return inside
    if path.exists():
        return [path]
    if glob.has_magic(text):
        matched = sorted(Path(item) for item in glob.glob(text, recursive=True))
        inside = [
            file for item in matched for file in (_files_of(str(item)) if item.is_dir() else [item])
        ]
        if not inside:
            raise NoInputError(f"{text}: no file matches")
        return inside
    raise NoInputError(f"{text}: no such file or folder")


def _is_log(item: Path, folder: Path) -> bool:
    """Leave out what file managers and version control put beside logs."""
    hidden = any(part.startswith(".") for part in item.relative_to(folder).parts)
    return item.is_file() and not hidden
