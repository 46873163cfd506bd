"""The ledger of one input of an evidence set: what was read of it, counted and hashed.

It is written last, so that it says by being there that its rows are there as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec
from msgspec import Struct

from forensics import fields
from forensics._version import __version__
from forensics.errors import PrivacyError, VerificationError
from forensics.guard import misfits_by
from forensics.sources.evidence_set import RawLog
from forensics.sources.parsed import Unread
from forensics.sources.reading import FileFacts, Reading
from forensics.sources.wrappers.stack import INSIDE

VERSION = 1
"""Of the layout; a set of another one is not read."""


class Rows(Struct, frozen=True):
    """One Parquet file of an input: its path in the set, size, hash and number of rows."""

    name: str
    bytes: int
    sha256: str
    rows: int


class Ledger(RawLog, frozen=True, kw_only=True):
    """One input: the facts of its reading pass, and its files in order.

    ``columns`` names, per kind of rows, those that the readers filled; ``redacted`` says
    that rows hold a place instead of an identifier; ``zoneless`` are the nodes whose rows
    have times without a zone; ``shape`` is that of the first lines where no format is known.
    ``states`` are what was counted of the files (:mod:`forensics.triage.state`).
    """

    version: int = VERSION
    reader: str = __version__
    names: tuple[str, ...]
    detected_by: str
    read: int
    kept: int
    ignored: dict[str, int]
    unread: tuple[tuple[int | None, int | None, str], ...]
    bad_values: dict[str, int]
    notes: dict[str, int]
    clock: tuple[tuple[str, int, int], ...]
    columns: dict[str, tuple[str, ...]]
    redacted: bool
    files: tuple[Rows, ...]
    zoneless: tuple[str, ...] = ()
    shape: str = ""
    states: tuple[Rows, ...] = ()

    def facts(self, number: int, name: str) -> FileFacts:
        """Return what the reading pass knew, under the number and name of this run."""
        return FileFacts(
            number=number,
            name=name,
            size=self.bytes,
            sha256=self.sha256,
            format=self.format,
            detected_by=self.detected_by,
            node=self.node,
            read=self.read,
            kept=self.kept,
            ignored=Counter(self.ignored),
            unread=[Unread(*item) for item in self.unread],
            bad_values=Counter(self.bad_values),
            notes=Counter(self.notes),
            shape=self.shape,
        )

    def clock_counts(self) -> Counter[tuple[str, int]]:
        """Return how often each offset between wall clock and epoch stamps was seen."""
        return Counter({(node, offset): count for node, offset, count in self.clock})


def of_reading(
    reading: Reading,
    key: str,
    names: tuple[str, ...],
    columns: Mapping[str, tuple[str, ...]],
    files: tuple[Rows, ...],
    *,
    redacted: bool,
    zoneless: Iterable[str] = (),
) -> Ledger:
    """Return the ledger of an input's reading pass."""
    (facts,) = reading.files
    return Ledger(
        key=key,
        names=names,
        bytes=facts.size,
        sha256=facts.sha256,
        node=facts.node,
        format=facts.format,
        detected_by=facts.detected_by,
        read=facts.read,
        kept=facts.kept,
        ignored=_sorted(facts.ignored),
        unread=tuple((item.line, item.offset, item.reason) for item in facts.unread),
        bad_values=_sorted(facts.bad_values),
        notes=_sorted(facts.notes),
        clock=tuple((node, at, n) for (node, at), n in sorted(reading.clock.items())),
        columns=dict(columns),
        redacted=redacted,
        files=files,
        zoneless=tuple(sorted(set(zoneless))),
        shape=facts.shape,
    )


def _sorted(counts: Counter[str]) -> dict[str, int]:
    return {name: counts[name] for name in sorted(counts)}


def encode(ledger: Ledger) -> bytes:
    """Return the ledger as JSON.

    Raises:
        PrivacyError: a text in it is none that it may hold.
    """
    _check(ledger)
    return msgspec.json.format(msgspec.json.encode(ledger), indent=1) + b"\n"


def decode(data: bytes) -> Ledger:
    """Return the ledger that :func:`encode` wrote.

    Raises:
        VerificationError: it is none, or of another layout.
    """
    try:
        ledger = msgspec.json.decode(data, type=Ledger)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise VerificationError("the ledger of an input is damaged") from None
    if ledger.version != VERSION:
        raise VerificationError(
            f"the set has layout {ledger.version}, this version reads {VERSION}"
        )
    return ledger


def _nodes(ledger: Ledger) -> list[str]:
    return [ledger.node, *(node for node, _, _ in ledger.clock), *ledger.zoneless]


def _check(ledger: Ledger) -> None:
    """Hold the ledger's texts against their rules; names of files are the user's own."""
    wrong = misfits_by(
        {
            "names": (ledger.names, fields.place),
            "node": (_nodes(ledger), fields.identifier),
            "format": ([ledger.format] if ledger.format else [], fields.phrase),
            "detected_by": (
                ledger.detected_by.split(INSIDE) if ledger.format else [],
                fields.phrase,
            ),
            "shape": ([ledger.shape], fields.shape),
            "ignored": ([*ledger.ignored, *ledger.notes], fields.phrase),
            "unread": (sorted({reason for _, _, reason in ledger.unread}), fields.phrase),
            "bad_values": (ledger.bad_values, fields.column),
        }
    )
    for field, count in wrong.items():
        raise PrivacyError(f"ledger: {count} text(s) of {field} are none that it may hold")
