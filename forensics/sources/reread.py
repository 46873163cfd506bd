"""Rows of an evidence set, hashed and read back as what the raw log gave."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from forensics import schema
from forensics.errors import VerificationError
from forensics.sources.context import Context
from forensics.sources.evidence_set import Stored, ledger_name
from forensics.sources.files import Input
from forensics.sources.ledger import Ledger, decode
from forensics.sources.reading import Parts, Progress, Reading, Shard

REDACTED = "redacted:"
_SMALL = ("capacity", "markers", "traces", "activity")


def ledger_of(stored: Stored) -> Ledger:
    """Return the ledger of an input, checked.

    Raises:
        VerificationError: it is missing or not what the manifest says.
    """
    return decode(checked(stored.folder, ledger_name(stored.key), stored.ledger_sha256))


def checked(folder: Path, name: str, sha256: str) -> bytes:
    """Return the bytes of a file of a set.

    Raises:
        VerificationError: it is missing or has another hash.
    """
    try:
        data = (folder / name).read_bytes()
    except OSError as error:
        raise VerificationError(f"{folder / name}: {error.strerror}") from None
    if hashlib.sha256(data).hexdigest() != sha256:
        raise VerificationError(f"{folder / name} is not what its manifest says")
    return data


def file_bytes(folder: Path, ledger: Ledger) -> Iterator[tuple[str, bytes]]:
    """Yield name and bytes of each file of rows of an input of a set, checked.

    Raises:
        VerificationError: one is missing or not what the ledger says.
    """
    for item in ledger.files:
        yield item.name, checked(folder, item.name, item.sha256)


def small(folder: Path, ledger: Ledger, kind: str, number: int) -> list[pl.DataFrame]:
    """Return the rows of one of the kinds that are few, as the raw log gave them.

    Raises:
        VerificationError: the set holds other bytes than were written.
    """
    held = [item for item in ledger.files if item.name.startswith(f"{kind}/")]
    files = [checked(folder, item.name, item.sha256) for item in held]
    return [_rows(files, ledger.columns[kind], number)] if files else []


def read(source: Input, shard: Shard, reading: Reading, progress: Progress) -> None:
    """Add an input of a set to ``reading``, as its raw log would have been.

    Raises:
        VerificationError: the set holds other bytes than were written.
    """
    if source.stored is None:
        return
    ledger = ledger_of(source.stored)
    context = Context(shard.incident, source.number, source.name, source.label)
    plain = (ledger.format or "").startswith("plain-")
    node = _Node(ledger.node, source.node or ledger.node, plain)
    reading.files.append(replace(ledger.facts(source.number, source.name), node=node.new))
    for (name, offset), times in ledger.clock_counts().items():
        reading.clock[node.name(name), offset] += times
    parts = Parts(shard.folder, source.number)
    try:
        for kind, files in _together(source.stored.folder, ledger):
            rows = node.renamed(_rows(files, ledger.columns[kind], source.number))
            progress(sum(map(len, files)), rows.height)
            if kind in _SMALL:
                getattr(reading, kind).append(rows)
            else:
                parts.add([_named(rows, ledger, context)])
    finally:
        reading.parts += parts.close()


@dataclass(frozen=True)
class _Node:
    """The node of an input, as its set has it and as this run does.

    A plain record names engines itself: only whose log it is in is told by the path.
    """

    old: str
    new: str
    named_in_records: bool

    def name(self, node: str) -> str:
        """Return the name of an engine of the input."""
        if node == self.old or node.startswith(f"{self.old}/"):
            return self.new + node[len(self.old) :]
        return node

    def renamed(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return the rows with its engines under their new name."""
        if self.old == self.new:
            return rows
        names = ["source_node", *([] if self.named_in_records else _NODES)]
        return rows.with_columns(self._renamed(name) for name in names if name in rows.columns)

    def _renamed(self, column: str) -> pl.Expr:
        own = pl.col(column).eq(self.old) | pl.col(column).str.starts_with(f"{self.old}/")
        rest = pl.col(column).str.slice(len(self.old))
        return pl.when(own).then(pl.lit(self.new) + rest).otherwise(column).alias(column)


_NODES = ("node", "prefill_node", "decode_node")

_BYTES = 32 << 20
"""Of Parquet that is decoded at a time: many small files in one go, large ones one by one."""


def _together(folder: Path, ledger: Ledger) -> Iterator[tuple[str, list[bytes]]]:
    """Yield kind and bytes of consecutive files of one kind."""
    held: list[bytes] = []
    kind = ""
    for name, data in file_bytes(folder, ledger):
        own = name.split("/", 1)[0]
        if held and (own != kind or sum(map(len, held)) + len(data) > _BYTES):
            yield kind, held
            held = []
        kind = own
        held.append(data)
    if held:
        yield kind, held


def _rows(files: list[bytes], columns: tuple[str, ...], number: int) -> pl.DataFrame:
    """Return the rows of some files with the columns that the readers filled, in their order."""
    wanted = [name for name in columns if name != "file"]
    rows = pl.scan_parquet(files).select(wanted).collect()
    return rows.with_columns(file=pl.lit(number, dtype=pl.Int32)).select(columns)


_IDS = [c.name for c in schema.OBSERVATION_COLUMNS if c.kind == "id"]


def _named(rows: pl.DataFrame, ledger: Ledger, context: Context) -> pl.DataFrame:
    """Name rows whose identifier was not kept by their place, as this run knows the file."""
    if not ledger.redacted:
        return rows
    return renamed(rows, ledger.key, context.place)


def renamed(rows: pl.DataFrame, old: str, new: str) -> pl.DataFrame:
    """Put one name of a file for another where rows are named by their place."""
    before, after = f"{REDACTED}{old}:", f"{REDACTED}{new}:"
    return rows.with_columns(
        pl.when(pl.col(name).str.starts_with(before))
        .then(pl.lit(after) + pl.col(name).str.slice(len(before)))
        .otherwise(pl.col(name))
        .alias(name)
        for name in _IDS
        if rows.schema.get(name) == pl.String
    )


def places(rows: pl.DataFrame, name: str) -> bool:
    """Say whether rows are named by their place in a file of that name."""
    ids = [column for column in _IDS if column in rows.columns]
    there = [pl.col(column).str.starts_with(f"{REDACTED}{name}:").any() for column in ids]
    return bool(there) and any(rows.select(there).row(0))
