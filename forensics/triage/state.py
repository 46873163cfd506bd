"""What an ingest leaves beside the partitions of an input, so that a triage need not read them.

A state holds what a look at its partitions finds: counts, the rows that may matter, and hashes
of all identifiers. It names the partitions by their hashes. Where a limit was lower than the
shortest prompt that was kept, its counts say so, and the partitions are read after all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from io import BytesIO

import msgspec
import polars as pl
from msgspec import Struct

from forensics import fields, guard
from forensics.encode import completed, parquet_bytes
from forensics.fields import Field
from forensics.guard import Table
from forensics.sources.ledger import Rows
from forensics.triage import counts
from forensics.triage.keys import hashes
from forensics.triage.quiet import ODD, PROMPT
from forensics.triage.shards import IDS, counted

FOLDER = "states"
ROWS = 524_288
"""Rows of partitions that share a state."""
_VERSION = 1
_KEPT = 512
"""One row in so many is kept for its length alone."""
_WORD = 8
_COUNTS = guard.table(
    "counts of quiet rows",
    fields.text("prefill_node", fields.identifier),
    [Field(name, dtype) for name, dtype in counts.COUNTS.items() if name != "prefill_node"],
)


class Head(Struct, frozen=True):
    """The head of a state; the hashes of identifiers stand behind it.

    ``hashed_by`` is the version of Polars, whose hashes hold for that version only; ``files``
    are names and hashes of the partitions; ``least`` the prompt length from which on rows are
    kept; ``ids`` how many hashes there are of each identifier.
    """

    version: int
    hashed_by: str
    files: tuple[tuple[str, str], ...]
    least: int
    odd: int
    counts: bytes
    kept: bytes
    ids: tuple[int, ...]


@dataclass(frozen=True)
class Read:
    """A state that was read, and where in it the hashes begin."""

    head: Head
    offset: int

    @property
    def counts(self) -> pl.DataFrame:
        """Counts of quiet rows."""
        return pl.read_parquet(BytesIO(self.head.counts))

    @property
    def kept(self) -> pl.DataFrame:
        """The other rows, whole."""
        return pl.read_parquet(BytesIO(self.head.kept))

    def unfit(self, files: Iterable[Rows]) -> str | None:
        """Return why it says nothing of some partitions, None where it is of them."""
        if self.head.version != _VERSION or self.head.hashed_by != pl.__version__:
            return "of another version"
        if self.head.files != tuple((item.name, item.sha256) for item in files):
            return "of other partitions"
        return None


def encode(files: Iterable[Rows], rows: pl.DataFrame, table: Table) -> bytes:
    """Return the state of some partitions.

    Args:
        files: the partitions, in order.
        rows: of all of them, in order; columns of the table that they lack are null.
        table: of the rows.

    Raises:
        PrivacyError: the rows are none of the table's.
    """
    longest = rows.select(PROMPT.top_k(max(1, rows.height // _KEPT)).min()).item()
    least = 0 if longest is None else int(longest)
    quiet = counted(rows, least)
    ids = [hashes(rows[name]) for name in IDS]
    head = Head(
        version=_VERSION,
        hashed_by=pl.__version__,
        files=tuple((item.name, item.sha256) for item in files),
        least=least,
        odd=int(rows.select(ODD.sum()).item()),
        counts=parquet_bytes(counts.merged([counts.count(rows, quiet)]), _COUNTS),
        kept=parquet_bytes(completed(rows.filter(~quiet), table), table),
        ids=tuple(map(len, ids)),
    )
    packed = msgspec.msgpack.encode(head)
    size, gap = len(packed).to_bytes(_WORD, "little"), bytes(-len(packed) % _WORD)
    return b"".join([size, packed, gap, *(own.tobytes() for own in ids)])


def decode(data: bytes) -> Read | None:
    """Return the state that was encoded, None where it is none."""
    size = int.from_bytes(data[:_WORD], "little")
    try:
        head = msgspec.msgpack.decode(data[_WORD : _WORD + size], type=Head)
    except msgspec.MsgspecError:
        return None
    begin = _WORD + size + -size % _WORD
    return Read(head, begin) if begin + _WORD * sum(head.ids) == len(data) else None
