"""What a set holds already, checked before a run builds on it.

A run that says of a log that it is there must not say so of damaged rows, and must not
seal a damaged ledger again: the new hashes would vouch for it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec.structs import replace

from forensics.errors import VerificationError
from forensics.sources.evidence_set import ledger_name, manifest_of
from forensics.sources.ledger import Ledger, encode
from forensics.sources.reread import file_bytes


def require_ledgers(folder: Path, there: Mapping[str, Ledger]) -> None:
    """Hold the ledgers of a set against its manifest.

    Raises:
        VerificationError: one is missing or has other bytes than were written.
    """
    manifest = manifest_of(folder)
    hashes = {output.name: output.sha256 for output in manifest.outputs}
    for item in manifest.inputs:
        name = ledger_name(item.key)
        if item.key not in there:
            raise VerificationError(f"{folder / name}: missing; --force starts over")
        if not _as_written(folder / name, there[item.key], item.names, hashes.get(name)):
            raise VerificationError(f"{folder / name} is not what its manifest says")


def _as_written(path: Path, ledger: Ledger, names: tuple[str, ...], sha256: str | None) -> bool:
    """A run that was killed before its manifest may have given a ledger new names only."""
    before = encode(replace(ledger, names=names))
    return sha256 in (_hash(path.read_bytes()), _hash(before))


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def require_rows(folder: Path, there: Mapping[str, Ledger], keys: Iterable[str]) -> None:
    """Hold the stored rows of some inputs against their ledgers.

    Raises:
        VerificationError: a file is missing or has other bytes than were written.
    """
    for key in sorted(keys):
        for _ in file_bytes(folder, there[key]):
            pass
