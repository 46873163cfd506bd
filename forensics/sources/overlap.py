"""Which logs are known already: the same bytes again, or a file that has grown since.

Told by content, never by name or date. Bytes are compared among logs of one node only,
or of one file name, moved: two engines can write the same lines. A file is hashed here
only where there is something that it could be the same as.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from forensics.incident import Incident
from forensics.sources.archives.listing import Member
from forensics.sources.archives.members import MemberStream, opened_member
from forensics.sources.context import Context
from forensics.sources.evidence_set import RawLog
from forensics.sources.files import Input, reading_order, relabelled
from forensics.sources.nodes import of

_PIECE = 4 << 20
IN_A_SET = "an evidence set holds it"
"""Why a log is left out that lies beside a set of it."""


@dataclass(frozen=True)
class Known:
    """A log that was read before, and the names it had."""

    log: RawLog
    names: tuple[str, ...]


@dataclass
class Overlap:
    """What is known of some inputs, by their numbers.

    ``same`` leads to the key of the log with the same bytes; ``continued`` names, by its
    key, a known log that is the start of an input, and so is read again with it.
    """

    same: dict[int, str] = field(default_factory=dict)
    continued: dict[str, int] = field(default_factory=dict)


def overlap(inputs: Sequence[Input], known: Iterable[Known], incident: Incident) -> Overlap:
    """Compare inputs with known logs. What cannot be read is like none: its reading tells why."""
    found = Overlap()
    nodes = {s.number: Context(incident, 0, s.name, among=s.node).node for s in inputs}
    logs = [item for item in known if item.log.sha256]
    regular = [s for s in inputs if s.path is not None and s.path.is_file() and s.stored is None]
    longer: list[tuple[RawLog, int]] = []
    for source in sorted(regular, key=reading_order):
        own = nodes[source.number]
        near = [item for item in logs if _may_begin(item, source, own)]
        starts = _starts(source, {item.log.bytes for item in near})
        for log in (item.log for item in sorted(near, key=lambda item: item.log.node == own)):
            if starts.get(log.bytes) != log.sha256:
                continue
            if log.bytes < source.size:
                longer.append((log, source.number))
            else:
                found.same[source.number] = log.key
    there = set(found.same.values())
    found.continued = {log.key: number for log, number in longer if log.key not in there}
    return found


@dataclass(frozen=True)
class LeftOut:
    """A log that a run does not read: its bytes are read elsewhere."""

    name: str
    bytes: int
    sha256: str
    because: str


def distinct(inputs: list[Input], incident: Incident) -> tuple[list[Input], list[LeftOut]]:
    """Return the inputs of a run without those whose bytes others bring along.

    A log beside the evidence set that holds it is left out, and so is what a set holds of
    a log that has grown since and is named as well. Where no set is named, all stay.
    """
    held = {s.stored.key: s for s in inputs if s.stored is not None}
    if not held:
        return inputs, []
    known = [Known(s.stored.log, (s.name,)) for s in held.values() if s.stored is not None]
    found = overlap([s for s in inputs if s.stored is None], known, incident)
    kept, left = [], []
    for source in inputs:
        because = _because(source, found)
        if because is None:
            kept.append(source)
        else:
            stored = source.stored or held[found.same[source.number]].stored
            if stored is not None:
                left.append(LeftOut(source.name, stored.log.bytes, stored.log.sha256, because))
    return relabelled(kept), left


def _because(source: Input, found: Overlap) -> str | None:
    if source.number in found.same:
        return IN_A_SET
    if source.stored is not None and source.stored.key in found.continued:
        return "the start of a longer log that is read"
    return None


def _may_begin(known: Known, source: Input, node: str) -> bool:
    log = known.log
    if log.bytes > source.size:
        return False
    return source.name in known.names or (log.bytes > 0 and _alike(known, source, node))


def _alike(known: Known, source: Input, node: str) -> bool:
    named = of(source.name)
    return known.log.node == node or any(of(name) == named for name in known.names)


def _starts(source: Input, sizes: set[int]) -> dict[int, str]:
    """Return the hash of the first so many bytes, for each size; none where it is unreadable."""
    if source.path is None or not sizes:
        return {}
    try:
        return _hashes(source.path, source.member, sorted(sizes))
    except OSError:
        return {}


def _bytes(path: Path, member: Member | None) -> AbstractContextManager[BinaryIO | MemberStream]:
    return path.open("rb") if member is None else opened_member(path, member)


def _hashes(path: Path, member: Member | None, sizes: Sequence[int]) -> dict[int, str]:
    found, digest, at = {}, hashlib.sha256(), 0
    with _bytes(path, member) as file:
        for size in sizes:
            while at < size and (piece := file.read(min(_PIECE, size - at))):
                digest.update(piece)
                at += len(piece)
            if at == size:
                found[size] = digest.copy().hexdigest()
    return found
