"""A look at partitions by the state that was left beside them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex

from forensics.errors import VerificationError
from forensics.objects import ObjectPath
from forensics.sources.ledger import Ledger, Rows
from forensics.sources.reading import Progress, nothing
from forensics.sources.reread import checked
from forensics.triage import shards
from forensics.triage.keys import Stored
from forensics.triage.shards import Found, Shard, part
from forensics.triage.state import Read, decode


@dataclass(frozen=True)
class Seen:
    """What was found of a shard, and why a state that lies beside it was not used.

    ``shard`` is as it was looked at: a state has a prompt length of its own from which on rows
    were kept.
    """

    shard: Shard
    found: Found
    unused: str | None = None


def look(shard: Shard, progress: Progress = nothing) -> Seen:
    """Look at a shard by its state, or at its partitions where that does not hold."""
    if shard.state is None:
        return Seen(shard, shards.look(shard, progress))
    read = _read(shard, shard.state)
    if isinstance(read, str):
        return Seen(shard, shards.look(shard, progress), f"{shard.state.name}: {read}")
    progress(shard.size, shard.state.rows)
    return Seen(replace(shard, least=read[0].head.least), _found(shard, *read))


def _read(shard: Shard, state: Rows) -> tuple[Read, Path] | str:
    """Return the state and the file that it is in, or why it says nothing of the shard."""
    try:
        data = checked(shard.set, state.name, state.sha256)
    except VerificationError:
        return "missing, or not what was written"
    read = decode(data)
    if read is None:
        return "no state"
    unfit = read.unfit(shard.files)
    if unfit is not None:
        return unfit
    if not all(_there(shard.set / item.name, item.bytes) for item in shard.files):
        return "a partition is not what it was made of"
    path = shard.set / state.name
    if isinstance(path, ObjectPath):  # its hashes are gone through again, in no order
        path = shard.scratch / f"{token_hex(8)}.state"
        path.write_bytes(data)
    return read, path


def _there(path: Path, size: int) -> bool:
    try:
        return path.is_file() and path.stat().st_size == size
    except OSError:
        return False


def _found(shard: Shard, read: Read, path: Path) -> Found:
    ids, at = [], read.offset
    for number in read.head.ids:
        ids.append(Stored(path, at, number))
        at += 8 * number
    kept = read.kept
    rows = part(shard, kept) if kept.height else ()
    return Found(read.counts, rows, tuple(ids), odd=read.head.odd)


def grouped(ledger: Ledger) -> list[tuple[tuple[Rows, ...], Rows]]:
    """Return each state of an input with the partitions that it is said to be of."""
    held = [item for item in ledger.files if item.name.startswith("observations/")]
    found = []
    for state in ledger.states:
        taken, rows = 0, 0
        while taken < len(held) and rows < state.rows:
            rows += held[taken].rows
            taken += 1
        found.append((tuple(held[:taken]), state))
        held = held[taken:]
    return found if not held else []
