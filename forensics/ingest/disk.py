"""Writing into a set: private, each file whole or not at all, on disk before it counts."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath
from secrets import token_hex

from forensics.errors import UsageError
from forensics.output import write_private
from forensics.sources.evidence_set import WORK


def private(folder: Path) -> Path:
    """Make a folder and those above it, for its owner alone, and return it."""
    for missing in reversed([folder, *folder.parents]):
        if not missing.exists():
            missing.mkdir(mode=0o700, exist_ok=True)
    return folder


def put(folder: Path, name: str, data: bytes, scratch: Path) -> None:
    """Write a file of a set in one step; one of that name is replaced."""
    target = folder / name
    private(target.parent)
    written = scratch / "file"
    written.unlink(missing_ok=True)
    write_private(written, data)
    written.replace(target)


def sync(folder: Path, names: Iterable[str]) -> None:
    """Make sure that some files of a set are on disk under their names."""
    above = {folder / parent for name in names for parent in PurePath(name).parents}
    for parent in sorted(above):
        descriptor = os.open(parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def alone(folder: Path) -> Iterator[Path]:
    """Yield a scratch folder within a set; no other run writes to the set meanwhile.

    What a killed run left there is removed. The folder has a name of its own: a child
    that outlives the killed run for a moment finds none to write to.

    Raises:
        UsageError: another run is writing to the set.
    """
    work = private(folder / WORK)
    descriptor = os.open(work, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"{folder}: another ingest is writing to it") from None
        for left in work.iterdir():
            shutil.rmtree(left, ignore_errors=True)
        yield private(work / token_hex(8))
    finally:
        os.close(descriptor)
    shutil.rmtree(work, ignore_errors=True)
