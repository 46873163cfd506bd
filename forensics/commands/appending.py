"""Files that a live check leaves behind: opened before anything is asked, or refused."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from forensics.errors import UsageError


@contextmanager
def appended(path: Path | None, option: str = "--record") -> Iterator[Callable[[bytes], object]]:
    """Open a file to append to, and yield what takes its next whole lines.

    Each piece is written at once, so that whatever ends the run leaves whole lines. Without a
    path nothing is kept.

    Raises:
        UsageError: the file cannot be written.
    """
    if path is None:
        yield lambda _: None
        return
    try:
        # Without O_NONBLOCK a pipe that nobody reads would wait for ever.
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK
        descriptor = os.open(path, flags, 0o600)
    except (OSError, ValueError) as error:
        raise UsageError(f"{option} {path}: {_why(error)}") from None
    with os.fdopen(descriptor, "ab", buffering=0) as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise UsageError(f"{option} {path}: no regular file")
        yield file.write


def replaceable(path: Path | None, option: str, other: Path | None = None) -> None:
    """See that a file can be replaced later on, without touching it.

    Raises:
        UsageError: it cannot, or it is the ``other`` file too.
    """
    if path is None:
        return
    try:
        if other is not None and path.resolve() == other.resolve():
            raise UsageError(f"{option} {path}: the file of the other option, too")
        if path.exists() and not path.is_file():
            raise UsageError(f"{option} {path}: no regular file")
        descriptor, made = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        os.close(descriptor)
        Path(made).unlink()
    except (OSError, ValueError) as error:
        raise UsageError(f"{option} {path}: {_why(error)}") from None


def _why(error: OSError | ValueError) -> str:
    return getattr(error, "strerror", None) or "no name of a file"
