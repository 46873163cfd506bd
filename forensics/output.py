"""A folder that appears whole or not at all, for its owner's eyes only.

It is made beside its target under a hidden name and moved there in one step; where
there is a folder already, the two change places in one step if the system can do that.
A run that was killed leaves its hidden folder behind. The next run removes it, but
only where it is certain that nobody works on it: its maker holds a lock on it, which
ends with the process. What is replaced is a folder of the same kind or an empty one, and
no other: see :mod:`forensics.replaceable`.
"""

from __future__ import annotations

import ctypes
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from forensics import held
from forensics.errors import OutputExistsError, UsageError
from forensics.objects import place
from forensics.replaceable import refuse_others

_NEW, _OLD = "forensics-new-", "forensics-old-"


@contextmanager
def whole_folder(target: Path, kind: str, *, force: bool = False) -> Iterator[Path]:
    """Yield a private folder that becomes ``target`` when the block ends well.

    Args:
        target: must not exist, unless ``force``; then it is replaced as a whole.
        kind: what it is to be, as its manifest says.
        force: replace an existing folder of that kind.

    Raises:
        OutputExistsError: ``target`` is there, and it is not to be replaced.
        UsageError: its parent cannot be written.
    """
    remove_leftovers(target)
    require_free(target, kind, force=force)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        made, lock = _make(target, _NEW)
    except OSError as error:
        raise UsageError(f"{target.parent}: cannot be written ({error.strerror})") from None
    try:
        yield made
        _sync(made)
        if force:
            require_free(target, kind, force=force)  # files may have come meanwhile
        _move(made, target, force=force)
        _sync(target.parent)
    finally:
        shutil.rmtree(made, ignore_errors=True)
        os.close(lock)


def require_free(target: Path, kind: str, *, force: bool) -> None:
    """Raise where something is there that may not be replaced.

    Args:
        target: where a folder is to be written.
        kind: what it is to be.
        force: a folder of that kind may be replaced, and an empty one.

    Raises:
        OutputExistsError: it is there without ``force``, no folder, or holds another's files.
    """
    if not os.path.lexists(target):
        return
    if not force:
        raise OutputExistsError(f"{target} exists; --force replaces it")
    if target.is_symlink() or not target.is_dir():
        raise OutputExistsError(f"{target} is a link or no folder; it is not replaced")
    refuse_others(target, kind)


def _move(made: Path, target: Path, *, force: bool) -> None:
    if not force or not target.exists():
        os.rename(made, target)  # noqa: PTH104 -- fails where the target came to be meanwhile
    elif not _exchange(made, target):
        _move_in_two_steps(made, target)


def _move_in_two_steps(made: Path, target: Path) -> None:
    """Replace the target; a kill between the steps is undone by the next run."""
    old, lock = _make(target, _OLD)
    kept = old / target.name
    try:
        target.rename(kept)
        made.rename(target)
    except BaseException:
        if kept.exists() and not target.exists():
            kept.rename(target)
        raise
    finally:
        _discard(old)
        os.close(lock)


_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def _exchange(one: Path, other: Path) -> bool:
    """Let two folders change places in one step; say whether the system could."""
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    paths = (_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other))
    return bool(renameat2(*paths, _RENAME_EXCHANGE) == 0)


def remove_leftovers(target: Path) -> None:
    """Remove what killed runs left beside ``target``; put back what one had moved away."""
    try:
        beside = sorted(target.parent.iterdir())
    except OSError:
        return
    for path in beside:
        if path.name.startswith((f".{target.name}.{_NEW}", f".{target.name}.{_OLD}")):
            _remove_leftover(path, target)


def _remove_leftover(path: Path, target: Path) -> None:
    try:
        lock = held.hold(path)
    except OSError:
        return  # in use, gone, no folder, or locks do not work here: not certain, so left
    try:
        kept = path / target.name
        if not held.is_own(lock):
            return
        if f".{_OLD}" in path.name and kept.is_dir() and not os.path.lexists(target):
            kept.rename(target)
        _discard(path)
    finally:
        os.close(lock)


def _discard(hidden: Path) -> None:
    """Remove a hidden folder; what is gone in part is under no name that is put back."""
    unwanted = hidden.with_name(hidden.name.replace(f".{_OLD}", f".{_NEW}"))
    try:
        hidden.rename(unwanted)
        shutil.rmtree(unwanted, ignore_errors=True)
    except OSError:
        return


def _make(target: Path, kind: str) -> tuple[Path, int]:
    """Make a hidden folder beside the target; it is held until the descriptor is closed."""
    return held.make(f".{target.name}.{kind}", target.parent)


def _sync(folder: Path) -> None:
    """Bring the names in a folder to disk, where a folder can be read and synced."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def refuse_inputs(target: Path, inputs: Iterable[str | os.PathLike[str]]) -> None:
    """Raise where an input lies in the folder that would be replaced: it is evidence.

    Raises:
        UsageError: one does.
    """
    folder = target.resolve()
    for name in inputs:
        if place(name).resolve().is_relative_to(folder):
            raise UsageError(f"{target} holds an input ({name}); it is not replaced")


def write_private(path: Path, data: bytes) -> None:
    """Write a file that only its owner can read, and make sure it is on disk."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
