"""How much memory a run may take: fewer processes where it is little, and an end in good time.

What a run needs is known exactly only when it needs it. So it is watched, with its workers,
and ended by itself with a word, before the system ends whatever it likes without one.
"""

from __future__ import annotations

import os
import re
import resource
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from forensics.errors import UsageError

LEAST = 512 << 20
"""Below that, bytes, not even one log can be read."""
PER_WORKER = 576 << 20
"""Bytes that a process takes at the most to read a long log into an evidence set, its libraries
included; as much is left to the one that others work for."""
_PAUSE = 0.02
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(I?)B?", re.IGNORECASE)
_PROC = Path("/proc")

_limit: list[int | None] = [None]


def parse(text: str) -> int:
    """Return the bytes of ``2GB``, ``2GiB``, ``1500M`` or a number of bytes.

    Raises:
        UsageError: it is no such size, or too little to read anything.
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise UsageError("--memory takes a size as 2GB or 1500MiB")
    unit = 1024 if found[3] else 1000
    size = int(float(found[1]) * unit ** " KMGT".index(found[2].upper() or " "))
    if size < LEAST:
        raise UsageError(f"--memory takes {shown(LEAST)} at the least")
    return size


def shown(size: int) -> str:
    """Return a size as a person reads it."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"


def within(workers: int) -> int:
    """Return how many of some processes the memory allows beside this one, one at the least."""
    if _limit[0] is None:
        return workers
    return max(1, min(workers, _limit[0] // PER_WORKER - 1))


@contextmanager
def limited(size: int, over: Callable[[int], None]) -> Iterator[None]:
    """Let a run take so many bytes within the block.

    Args:
        size: of this process and those that it started, bytes.
        over: called once from a thread of its own, with the bytes taken, when they are more.
    """
    before, _limit[0] = _limit[0], size
    ended = threading.Event()
    threading.Thread(target=_watch, args=(size, over, ended), daemon=True).start()
    try:
        yield
    finally:
        ended.set()
        _limit[0] = before


def _watch(size: int, over: Callable[[int], None], ended: threading.Event) -> None:
    while not ended.wait(_PAUSE):
        taken = sum(map(_resident, _family(os.getpid())))
        if taken > size:
            over(taken)
            return


def _family(parent: int) -> Iterator[int]:
    """Yield a process and all that it started."""
    yield parent
    for listed in _PROC.glob(f"{parent}/task/*/children"):
        try:
            children = listed.read_text("ascii").split()
        except OSError:
            continue
        for child in children:
            yield from _family(int(child))


def _resident(process: int) -> int:
    try:
        pages = (_PROC / str(process) / "statm").read_text("ascii").split()[1]
    except (OSError, IndexError):
        return 0 if _PROC.is_dir() else _peak()
    return int(pages) * resource.getpagesize()


def _peak() -> int:
    """Return the most that this process ever took, where nothing tells what it takes now."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
