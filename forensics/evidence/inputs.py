"""Inputs, where they still lie: unchanged, changed, or gone.

They are opened for reading only, as they were when the report was made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from forensics.errors import ForensicsError, NoInputError
from forensics.evidence.hashes import Digest, digest, digest_of_start
from forensics.evidence.record import Source
from forensics.objects import place
from forensics.sources import evidence_set
from forensics.sources.blocks import Opened
from forensics.sources.evidence_set import Stored
from forensics.sources.files import STDIN, Input, expand, inputs_of, on_disk
from forensics.sources.packing import DamagedStreamError

State = Literal["same", "changed", "gone", "no hash"]


@dataclass(frozen=True)
class Located:
    """An input, the file or stored rows it was found as, and what is to be said of it.

    ``as_input`` is what it is read as again, where that is no file alone.
    """

    source: Source
    path: Path | None
    state: State
    what: str = ""
    stored: Stored | None = None
    as_input: Input | None = None

    @property
    def input(self) -> Input:
        """What to read again, under the name it had."""
        if self.as_input is not None:
            return replace(self.as_input, name=self.source.name)
        return Input(0, self.path, self.source.name, stored=self.stored)


def locate(sources: Iterable[Source], moved_to: Sequence[str] = ()) -> list[Located]:
    """Find each input where it lay, or below ``moved_to`` by its bytes, and hash it.

    Raises:
        NoInputError: ``moved_to`` names nothing that is there.
    """
    listed = list(sources)
    moved = _Moved(moved_to, {source.bytes for source in listed}) if moved_to else None
    archives = _Archives({source.path: source for source in listed}, moved)
    return [_locate(source, moved, archives) for source in listed]


class _Moved:
    """Files and sets below some paths, by their bytes and by their name."""

    def __init__(self, paths: Sequence[str], sizes: set[int]) -> None:
        found = [item for item in expand(*paths) if item.path is not None]
        if not found:
            raise NoInputError("no log was named")
        files = [
            item.path
            for item in found
            if item.path is not None and item.stored is None and item.member is None
        ]
        self._by_name = {path.name: path for path in reversed(files)}
        alike = [path for path in files if path.stat().st_size in sizes]
        self._by_digest = {known: path for path in alike if (known := _digest(path)) is not None}
        stored = [item.stored for item in found if item.stored is not None]
        self._sets = {item.key: item.folder for item in stored}

    def find(self, source: Source) -> Path | None:
        """Return the file with the input's bytes, else the one with its name."""
        same = self._by_digest.get(source.digest)
        return same or self._by_name.get(Path(source.name).name)

    def find_set(self, key: str) -> Path | None:
        """Return the set that holds an input of that key."""
        return self._sets.get(key)


def _digest(path: Path) -> Digest | None:
    try:
        return digest(path)
    except OSError:
        return None


class _Archives:
    """Archives that inputs are members of, wherever they lie by now; each is read once."""

    def __init__(self, by_path: Mapping[str | None, Source], moved: _Moved | None) -> None:
        self._by_path = by_path
        self._moved = moved
        self._known: dict[Path, dict[str, tuple[Input, Digest]]] = {}

    def find(self, source: Source) -> Located | None:
        """Return what became of an input that is a member; None where it is none."""
        found = self._place(place(source.path)) if source.path is not None else None
        if found is None:
            return None
        path, name = found
        if path not in self._known:
            self._known[path] = _digests(path)
        known = self._known[path].get(name)
        if known is None:
            return Located(source, path, "changed", "is not in its archive any more")
        now, digest = known
        if source.sha256 and digest != source.digest:
            return Located(source, path, "changed", "has other bytes than were read")
        # Of what was refused there is no hash: that of the archive is compared.
        return Located(source, path, "same", as_input=now)

    def _place(self, path: Path) -> tuple[Path, str] | None:
        """Return archive and name of a member, told by an archive that is an input too."""
        for parent in path.parents:
            archive = self._by_path.get(str(parent))
            if archive is not None:
                found = self._moved.find(archive) if self._moved is not None else None
                found = found or on_disk(str(parent))
                return (found, path.relative_to(parent).as_posix()) if found.is_file() else None
        return None


def _digests(path: Path) -> dict[str, tuple[Input, Digest]]:
    """Return the members of an archive with their hashes, in one pass over it."""
    try:
        members = [item for item in inputs_of("", path) if item.member is not None]
        return {item.name[1:]: (item, _digest_of(item)) for item in members}
    except OSError:
        return {}


def _digest_of(item: Input) -> Digest:
    with Opened(item) as opened:
        # Of a damaged member, the bytes up to there are what was read.
        with suppress(DamagedStreamError):
            opened.drain()
        return Digest(opened.bytes_read, opened.sha256)


def _locate(source: Source, moved: _Moved | None, archives: _Archives) -> Located:
    if source.name == STDIN:
        return Located(source, None, "gone", "came from standard input")
    if source.evidence_set is not None:
        folder = moved.find_set(source.key) if moved is not None else None
        return _in_set(source, folder or on_disk(source.evidence_set))
    member = archives.find(source)
    if member is not None:
        return member
    path = moved.find(source) if moved is not None else None
    path = path or (on_disk(source.path) if source.path is not None else None)
    if path is None or not path.exists():
        return Located(source, None, "gone", "is not there any more")
    if not source.sha256:
        return Located(source, path, "no hash", "could not be read then, so it has no hash")
    return _compared(source, path)


def _compared(source: Source, path: Path) -> Located:
    try:
        now = digest(path)
        if now == source.digest:
            return Located(source, path, "same", as_input=_as_input(path))
        if now.bytes > source.bytes and digest_of_start(path, source.bytes) == source.digest:
            grown = f"has grown by {now.bytes - source.bytes:,} bytes; what was read is unchanged"
            return Located(source, path, "changed", grown)
    except OSError as error:
        return Located(source, None, "gone", f"cannot be read ({error.strerror})")
    return Located(source, path, "changed", "has other bytes than were read")


def _as_input(path: Path) -> Input:
    """Return what a file is read as: an archive of its own is only hashed."""
    return inputs_of("", path)[0]


def _in_set(source: Source, folder: Path) -> Located:
    """Find an input in the set that holds it, and check every byte of its rows."""
    from forensics.sources.reread import file_bytes, ledger_of

    if not evidence_set.is_set(folder):
        return Located(source, None, "gone", f"its evidence set is not there any more: {folder}")
    try:
        held = {item.key: item for name, item in evidence_set.stored_inputs(folder)}
        stored = held.get(source.key)
        if stored is None or Digest(stored.log.bytes, stored.log.sha256) != source.digest:
            return Located(source, folder, "changed", f"is not in {folder} any more")
        for _ in file_bytes(stored.folder, ledger_of(stored)):
            pass
    except (ForensicsError, OSError) as error:
        return Located(source, folder, "changed", f"has other bytes than were read: {error}")
    return Located(source, folder, "same", stored=stored)
