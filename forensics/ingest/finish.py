"""The end of an ingest: the manifest takes in what is there, and the rest goes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from forensics.evidence.hashes import Digest
from forensics.evidence.seal import SUMS, sums
from forensics.ingest import disk
from forensics.manifest import made_by
from forensics.sources.evidence_set import INPUTS, KIND, MANIFEST, OWN, ledger_name
from forensics.sources.layout import KINDS
from forensics.sources.ledger import VERSION, Ledger, encode
from forensics.sources.settings import Settings
from forensics.triage.state import FOLDER


def manifest(
    settings: Settings,
    ledgers: Mapping[str, Ledger],
    outputs: Mapping[str, Digest],
    run: Mapping[str, Any],
) -> bytes:
    """Return the manifest of a set; ``run`` holds the facts of the run that ends."""
    document = {
        "kind": KIND,
        **made_by(),
        **run,
        "version": VERSION,
        "settings": msgspec.to_builtins(settings),
        "inputs": [_input(ledgers[key]) for key in sorted(ledgers)],
        "outputs": [
            {"name": name} | msgspec.to_builtins(outputs[name]) for name in sorted(outputs)
        ],
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def _input(ledger: Ledger) -> dict[str, Any]:
    return {
        "name": ledger.names[0],
        "names": ledger.names,
        "key": ledger.key,
        "bytes": ledger.bytes,
        "sha256": ledger.sha256,
        "format": ledger.format,
        "detected_by": ledger.detected_by,
        "node": ledger.node,
        "read": ledger.read,
        "kept": ledger.kept,
        "ignored": ledger.ignored,
        "duplicate": 0,
        "unreadable": len(ledger.unread),
        "bad_values": ledger.bad_values,
        "stored_bytes": sum(item.bytes for item in ledger.files),
    }


def outputs_of(folder: Path, ledgers: Mapping[str, Ledger]) -> dict[str, Digest]:
    """Return the files of some inputs with their hashes, the ledgers' own among them."""
    found = {
        item.name: Digest(item.bytes, item.sha256)
        for ledger in ledgers.values()
        for item in (*ledger.files, *ledger.states)
    }
    for key in ledgers:
        data = (folder / ledger_name(key)).read_bytes()
        found[ledger_name(key)] = _digest(data)
    return found


def write_ledger(folder: Path, ledger: Ledger, work: Path) -> None:
    """Put a ledger in place of its former self."""
    disk.put(folder, ledger_name(ledger.key), encode(ledger), work)


def _digest(data: bytes) -> Digest:
    return Digest(len(data), hashlib.sha256(data).hexdigest())


def seal(folder: Path, data: bytes, outputs: Mapping[str, Digest], work: Path) -> None:
    """Put the manifest and ``SHA256SUMS`` in place, then remove what the manifest leaves out."""
    disk.put(folder, MANIFEST, data, work)
    disk.put(folder, SUMS, sums({**outputs, MANIFEST: _digest(data)}), work)
    disk.sync(folder, [MANIFEST])
    for kind in (INPUTS, FOLDER, *KINDS):
        _remove_others(folder, kind, set(outputs))


def _remove_others(folder: Path, kind: str, wanted: set[str]) -> None:
    """Remove files of ours that no ledger names, and folders that are empty then."""
    for path in sorted((folder / kind).rglob("*"), reverse=True):
        if path.is_dir() and not path.is_symlink():
            if not any(path.iterdir()):
                path.rmdir()
        elif OWN.fullmatch(path.name) and path.relative_to(folder).as_posix() not in wanted:
            path.unlink()
    if (folder / kind).is_dir() and not any((folder / kind).iterdir()):
        (folder / kind).rmdir()
