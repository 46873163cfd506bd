"""A folder that appears whole or not at all, for its owner's eyes only."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from forensics.errors import OutputExistsError, UsageError


@contextmanager
def whole_folder(target: Path, *, force: bool = False) -> Iterator[Path]:
    """Yield a private folder that becomes ``target`` when the block ends well.

    Args:
        target: must not exist, unless ``force``; then it is replaced as a whole.
        force: replace an existing folder.

    Raises:
        OutputExistsError: ``target`` is there and ``force`` is not set.
        UsageError: its parent cannot be written.
    """
    there = os.path.lexists(target)
    if there and not force:
        raise OutputExistsError(f"{target} exists; --force replaces it")
    if there and (target.is_symlink() or not target.is_dir()):
        raise OutputExistsError(f"{target} is a link or no folder; it is not replaced")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as error:
        raise UsageError(f"{target.parent}: cannot be written ({error.strerror})") from None
    try:
        yield made
        _move(made, target, force=force)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _move(made: Path, target: Path, *, force: bool) -> None:
    if not force or not target.exists():
        os.rename(made, target)  # noqa: PTH104 -- fails where the target came to be meanwhile
        return
    old = Path(tempfile.mkdtemp(prefix=f".{target.name}.old.", dir=target.parent))
    kept = old / target.name
    try:
        target.rename(kept)
        made.rename(target)
    except BaseException:
        if kept.exists() and not target.exists():
            kept.rename(target)
        raise
    finally:
        shutil.rmtree(old, ignore_errors=True)


def refuse_inputs(target: Path, inputs: Iterable[str | os.PathLike[str]]) -> None:
    """Raise where an input lies in the folder that would be replaced: it is evidence.

    Raises:
        UsageError: one does.
    """
    folder = target.resolve()
    for name in inputs:
        if Path(name).resolve().is_relative_to(folder):
            raise UsageError(f"{target} holds an input ({name}); it is not replaced")


def write_private(path: Path, data: bytes) -> None:
    """Write a file that only its owner can read, and make sure it is on disk."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
