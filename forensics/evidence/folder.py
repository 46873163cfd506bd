"""A sealed folder on disk: its manifest, its sums and what really lies in it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from forensics.errors import NoInputError
from forensics.evidence import record
from forensics.evidence.hashes import Digest, digest
from forensics.evidence.record import Record
from forensics.evidence.seal import MANIFEST, SUMS, bare_folders_in, files_in


@dataclass(frozen=True)
class Sealed:
    """A folder that has a manifest, or had one: ``SHA256SUMS`` is there without it."""

    path: Path

    @cached_property
    def manifest(self) -> bytes | None:
        """The bytes of the manifest."""
        return self._bytes(MANIFEST)

    @cached_property
    def sums(self) -> bytes | None:
        """The bytes of ``SHA256SUMS``."""
        return self._bytes(SUMS)

    @cached_property
    def record(self) -> Record | None:
        """What the manifest says, or None where it is gone or is no manifest."""
        return record.read(self.manifest) if self.manifest is not None else None

    @cached_property
    def files(self) -> dict[str, Digest | None]:
        """Size and hash of every file; None for one that is a link or cannot be read."""
        return {name: self._digest(name) for name in files_in(self.path)}

    @cached_property
    def bare_folders(self) -> list[str]:
        """Folders that are empty or cannot be read; none is ever written."""
        return bare_folders_in(self.path)

    def _digest(self, name: str) -> Digest | None:
        path = self.path / name
        if path.is_symlink() or not path.is_file():
            return None
        try:
            return digest(path)
        except OSError:
            return None

    def _bytes(self, name: str) -> bytes | None:
        path = self.path / name
        try:
            plain = path.is_file() and not path.is_symlink()  # a pipe would never end
            return path.read_bytes() if plain else None
        except OSError:
            return None


def opened(path: Path) -> Sealed:
    """Return a folder that was written by a command.

    Raises:
        NoInputError: there is no such folder, or it holds neither manifest nor sums.
    """
    if not path.is_dir():
        raise NoInputError(f"{path}: no such folder")
    sealed = Sealed(path)
    if sealed.manifest is None and sealed.sums is None:
        raise NoInputError(f"{path}: holds no {MANIFEST}; not written by this program")
    return sealed


def recorded(path: Path) -> tuple[Sealed, Record]:
    """Return a folder and what its manifest says.

    Raises:
        NoInputError: it has no manifest that can be read.
    """
    sealed = opened(path)
    if sealed.record is None:
        raise NoInputError(f"{path / MANIFEST}: missing, or no manifest")
    return sealed, sealed.record
