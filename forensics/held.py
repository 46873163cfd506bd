"""Folders that a process holds while it works in them: who finds one free may remove it.

The lock is on the folder itself and ends with the process that made it, and with those
that it started; a name that is a link is never followed.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from pathlib import Path


def make(prefix: str, place: Path) -> tuple[Path, int]:
    """Make a private folder in ``place``; it is held until the descriptor is closed."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
        try:
            return path, hold(path)
        except (BlockingIOError, FileNotFoundError):
            continue  # another run took the new folder for a leftover before it was held
        except OSError:
            return path, os.open(path, os.O_RDONLY)  # without locks nobody removes leftovers


def hold(path: Path) -> int:
    """Return a descriptor that holds a folder until it is closed.

    Raises:
        OSError: another process holds it, it is gone or a link, or it cannot be locked.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.lstat()  # it may have been removed before it could be locked
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def is_own(descriptor: int) -> bool:
    """Say whether a folder belongs to the user that this process runs as."""
    return os.fstat(descriptor).st_uid == os.geteuid()
