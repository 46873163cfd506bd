"""Whether a folder holds nothing but what a command of one kind wrote there.

A folder that is replaced is gone with all that lies in it. What is ours says so itself: the
manifest, or where that is damaged ``SHA256SUMS``, names the files. Any other file is somebody's.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import Struct

from forensics.errors import OutputExistsError
from forensics.wording import count

_KINDS = {
    "report": ("a report", "report.json"),
    "notices": ("notices", "recipients.csv"),
    "evidence": ("an evidence set", "inputs/"),
    "sample": ("a sample", "truth"),
}
"""What a kind is called, and how the name of a file begins that each of them holds."""


class _File(Struct):
    name: str


class _Made(Struct):
    kind: str = ""
    outputs: list[_File] = []


def refuse_others(folder: Path, kind: str) -> None:
    """Raise where a file lies in a folder that no command of this kind wrote.

    Args:
        folder: that would be replaced, on disk or in object storage.
        kind: ``report``, ``notices``, ``evidence`` or ``sample``.

    Raises:
        OutputExistsError: there is one; it says how many, and names none.
    """
    from forensics.evidence.seal import files_in  # it writes by the module that asks here

    own = _own(folder, kind)
    others = sum(not own(name) for name in files_in(folder))
    if others:
        verb = "is" if others == 1 else "are"
        what = f"{count(others, 'file')} that {verb} not of {_KINDS[kind][0]}"
        raise OutputExistsError(f"{folder} holds {what}; it is not replaced")


def _own(folder: Path, kind: str) -> Callable[[str], bool]:
    """Return what tells whether a file is of the command that made the folder."""
    from forensics.evidence.seal import MANIFEST, SUMS
    from forensics.sources.evidence_set import is_own

    listed = _listed(folder, kind)
    if listed is None:
        return lambda _: False
    known = {*listed, MANIFEST, SUMS}
    return lambda name: name in known or (kind == "evidence" and is_own(name))


def _listed(folder: Path, kind: str) -> set[str] | None:
    """Return the files that a folder says it holds, or None where it is not of this kind."""
    from forensics.evidence.seal import MANIFEST, SUMS, read_sums

    try:
        made = msgspec.json.decode(_read(folder / MANIFEST), type=_Made)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        named = read_sums(_read(folder / SUMS)) or {}
        first = _KINDS[kind][1]
        ours = MANIFEST in named and any(name.startswith(first) for name in named)
        return set(named) if ours else None
    return {file.name for file in made.outputs} if made.kind == kind else None


def _read(path: Path) -> bytes:
    """Return the bytes of a file; none where it cannot be read."""
    try:
        return path.read_bytes() if path.is_file() and not path.is_symlink() else b""
    except OSError:
        return b""
