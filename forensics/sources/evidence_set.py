"""Evidence sets as logs: how one is told, and which inputs it holds.

Only what the manifest names counts. So a set that a killed run left with more files
in it is still the set that it was before.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec import Struct

from forensics.errors import NoInputError, VerificationError
from forensics.sources.settings import Settings

KIND = "evidence"
MANIFEST = "manifest.json"
INPUTS = "inputs"
LEDGER = re.compile(r"[0-9a-f]{16}-[0-9a-f]{8}\.json")
OWN = re.compile(r"[0-9a-f]{16}-[0-9a-f]{8}(?:-\d+\.(?:parquet|state)|\.json)")
WORK = ".work"
"""Folder of what a run is writing."""


class RawLog(Struct, frozen=True, kw_only=True):
    """What a log was before it was read into a set: its key there, size, hash, node and format."""

    key: str
    bytes: int
    sha256: str
    node: str
    format: str | None


@dataclass(frozen=True)
class Stored:
    """An input that an evidence set holds: where, how it was read, and what it was."""

    folder: Path
    ledger_sha256: str
    settings: Settings
    log: RawLog
    stored_bytes: int

    @property
    def key(self) -> str:
        """The input's name in the set."""
        return self.log.key


class _Output(Struct, frozen=True):
    name: str
    sha256: str


class _Input(RawLog, frozen=True, kw_only=True):
    names: tuple[str, ...]
    stored_bytes: int


class Manifest(Struct, frozen=True):
    """What a run needs of a set's manifest."""

    kind: str
    finished: bool
    settings: Settings
    inputs: tuple[_Input, ...]
    outputs: tuple[_Output, ...]


class _Kind(Struct):
    kind: str = ""


def is_set(folder: Path) -> bool:
    """Say whether a folder is an evidence set, finished or not, whole or damaged."""
    try:
        data = (folder / MANIFEST).read_bytes()
        if msgspec.json.decode(data, type=_Kind).kind == KIND:
            return True
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        pass
    # With its manifest gone it must not pass for a folder of plain Parquet.
    return any(LEDGER.fullmatch(path.name) for path in (folder / INPUTS).glob("*.json"))


def manifest_of(folder: Path) -> Manifest:
    """Return the manifest of a set.

    Raises:
        VerificationError: it is missing or damaged.
    """
    try:
        return msgspec.json.decode((folder / MANIFEST).read_bytes(), type=Manifest)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        raise VerificationError(f"{folder / MANIFEST}: missing or damaged") from None


def stored_inputs(folder: Path) -> list[tuple[str, Stored]]:
    """Return the inputs of a finished set, each under every name that it was given by.

    Raises:
        NoInputError: no run has finished the set.
        VerificationError: the manifest is damaged.
    """
    manifest = manifest_of(folder)
    if not manifest.finished:
        raise NoInputError(f"{folder}: unfinished evidence set; run the same ingest again")
    hashes = {output.name: output.sha256 for output in manifest.outputs}
    return [
        (name, _stored(folder, item, manifest.settings, hashes))
        for item in manifest.inputs
        for name in item.names
    ]


def _stored(folder: Path, item: _Input, settings: Settings, hashes: dict[str, str]) -> Stored:
    return Stored(
        folder=folder,
        ledger_sha256=hashes.get(ledger_name(item.key), ""),
        settings=settings,
        log=item,
        stored_bytes=item.stored_bytes,
    )


def is_own(name: str) -> bool:
    """Say whether a path within a set is as a run names it, though no manifest may name it yet."""
    first, _, last = name.rpartition("/")
    return bool(first and OWN.fullmatch(last)) or first.split("/")[0] == WORK


def ledger_name(key: str) -> str:
    """Return the path of an input's ledger in its set."""
    return f"{INPUTS}/{key}.json"
