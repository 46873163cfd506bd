"""A private folder for what a run needs on disk while it lasts, and no longer.

It holds rows between two stages, never content. A run that was killed leaves its folder
behind; the next one removes it, once nobody holds it any more.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from forensics import held

_PREFIX = "forensics-run-"
_own: set[Path] = set()


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield a folder of the system's temporary place that is gone when the block ends."""
    place = Path(tempfile.gettempdir())
    _remove_leftovers(place)
    folder, lock = held.make(_PREFIX, place)
    _own.add(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _own.discard(folder)
        os.close(lock)


def remove_own() -> None:
    """Remove the folders of this process, which is about to end from where it stands."""
    for folder in list(_own):
        shutil.rmtree(folder, ignore_errors=True)


def _remove_leftovers(place: Path) -> None:
    """Remove what killed runs of the same user left."""
    try:
        left = sorted(path for path in place.iterdir() if path.name.startswith(_PREFIX))
    except OSError:
        return
    for path in left:
        _remove_leftover(path)


def _remove_leftover(path: Path) -> None:
    try:
        lock = held.hold(path)
    except OSError:
        return  # in use, gone, a link, no folder, another user's, or locks do not work here
    try:
        if held.is_own(lock):
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(lock)
