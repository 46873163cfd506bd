"""A set in object storage: made on disk, and put there whole.

The manifest goes last, and what it does not name any more is removed after it: a run that is
killed between leaves the set that was there before. Two runs that write one set at a time
are not kept apart, as no lock holds there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from forensics.errors import OutputExistsError, UsageError
from forensics.evidence.seal import MANIFEST, SUMS, files_in
from forensics.objects import ObjectPath
from forensics.replaceable import refuse_others
from forensics.scratch import scratch_folder
from forensics.sources.evidence_set import INPUTS, KIND, is_set

_LAST = (INPUTS, SUMS, MANIFEST)
"""What says which files are there, in the order in which it is written."""


@contextmanager
def mirrored(target: ObjectPath, *, force: bool) -> Iterator[Path]:
    """Yield a folder on disk that becomes ``target`` when the block ends well.

    A set that is there already is in it, so that it can be gone on with.

    Args:
        target: a prefix; what lies there is a set.
        force: start over, in place of the set that lies there.

    Raises:
        OutputExistsError: what lies there is no set, or not a set alone.
        UsageError: object storage cannot be read or written.
    """
    with scratch_folder() as scratch:
        folder = scratch / "set"
        try:
            there = {path.relative_to(target).as_posix(): path for path in target.below()}
            if there and force:
                refuse_others(target, KIND)
            elif there:
                if not is_set(target):
                    raise OutputExistsError(f"{target} holds no evidence set; it is not replaced")
                _fetch(there, folder)
        except OSError as error:
            raise UsageError(f"{target}: cannot be read ({error.strerror})") from None
        before = _stamps(folder)
        yield folder
        try:
            _send(folder, target, before)
            for name in sorted(there.keys() - set(files_in(folder))):
                there[name].unlink()
        except OSError as error:
            raise UsageError(f"{target}: cannot be written ({error.strerror})") from None


def _fetch(there: dict[str, ObjectPath], folder: Path) -> None:
    for name, path in there.items():
        own = folder / name
        own.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        own.write_bytes(path.read_bytes())


def _stamps(folder: Path) -> dict[str, tuple[int, int]]:
    """Return what tells whether a file is written anew: a set replaces, and never edits."""
    found = {name: (folder / name).stat() for name in files_in(folder)}
    return {name: (own.st_ino, own.st_mtime_ns) for name, own in found.items()}


def _send(folder: Path, target: ObjectPath, before: dict[str, tuple[int, int]]) -> None:
    now = _stamps(folder)
    new = [name for name in now if now[name] != before.get(name)]
    for name in sorted(new, key=_rank):
        (target / name).write_bytes((folder / name).read_bytes())


def _rank(name: str) -> tuple[int, str]:
    top = name.split("/", 1)[0]
    return (_LAST.index(top) if top in _LAST else -1), name
