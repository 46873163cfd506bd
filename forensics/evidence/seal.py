"""Close a folder: a manifest that names every file with its hash, and ``SHA256SUMS``.

``SHA256SUMS`` is what ``sha256sum -c`` reads, so that the folder can be checked where
this package is not installed. The manifest says more, and is itself named in it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from forensics.errors import ForensicsError
from forensics.evidence.hashes import Digest, digest
from forensics.objects import ObjectPath, walk
from forensics.output import write_private

MANIFEST = "manifest.json"
SUMS = "SHA256SUMS"


def seal(folder: Path, document: Mapping[str, Any]) -> None:
    """Write the manifest and ``SHA256SUMS`` of all files that lie in a folder.

    Args:
        folder: holds every other file already; sub-folders count.
        document: the manifest without its ``outputs``; ``kind`` says what the folder is.
    """
    found = {name: digest(folder / name) for name in files_in(folder)}
    outputs = [{"name": name} | msgspec.to_builtins(found[name]) for name in sorted(found)]
    data = msgspec.json.encode({**document, "outputs": outputs})
    write_private(folder / MANIFEST, msgspec.json.format(data, indent=2) + b"\n")
    found[MANIFEST] = digest(folder / MANIFEST)
    write_private(folder / SUMS, sums(found))


def files_in(folder: Path) -> list[str]:
    """Return the names of all files below a folder, parts joined by ``/``, sorted.

    Links are named too, and never followed.
    """
    found = []
    for where, folders, files in walk(folder):
        here = type(folder)(where)
        linked = [name for name in folders if (here / name).is_symlink()]
        found += [(here / name).relative_to(folder).as_posix() for name in files + linked]
    return sorted(found)


def bare_folders_in(folder: Path) -> list[str]:
    """Return the names of folders below a folder in which nothing is to be seen, sorted.

    They are empty, or they cannot be read.
    """
    if isinstance(folder, ObjectPath):
        return []  # a prefix is there by what lies below it alone
    closed: list[str] = []
    found = [
        where
        for where, folders, files in os.walk(folder, onerror=lambda e: closed.append(e.filename))
        if not folders and not files and Path(where) != folder
    ]
    return sorted(Path(name).relative_to(folder).as_posix() for name in {*found, *closed})


def sums(digests: Mapping[str, Digest]) -> bytes:
    """Return the lines of ``SHA256SUMS``, sorted by name.

    Raises:
        ForensicsError: a name holds what the plain form cannot.
    """
    for name in digests:
        if not name or any(sign in name for sign in "\\\n\r"):
            raise ForensicsError("a file's name cannot stand in SHA256SUMS")
    lines = [f"{digests[name].sha256}  {name}\n" for name in sorted(digests)]
    return "".join(lines).encode()


def read_sums(data: bytes) -> dict[str, str] | None:
    """Return the hash of each name, or None where the text is no such list."""
    found = {}
    for line in data.decode("utf-8", "replace").splitlines():
        sha256, _, name = line.partition("  ")
        if len(sha256) != 64 or not name:
            return None
        found[name] = sha256
    return found
