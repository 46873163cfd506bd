"""The plain input format: NDJSON, CSV or Parquet with the product's own column names.

Foreign names are mapped by ``[columns]``; any other column is never read.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Protocol

import polars as pl

from forensics.incident import Incident
from forensics.sources import records
from forensics.sources.batches import batches
from forensics.sources.blocks import LONGEST_LINE, READ_BYTES, Block, Opened
from forensics.sources.context import Context
from forensics.sources.jsonlines import JsonColumns, Path, split_lines
from forensics.sources.parsed import Parsed, Unread
from forensics.sources.records import KINDS, Raw
from forensics.sources.values import NOT_A_VALUE, first_value


class _Reader(Protocol):
    line_num: int

    def __next__(self) -> list[str]: ...


CSV_ROWS = 50_000


def names(incident: Incident) -> dict[str, str]:
    """Return foreign or own name to schema name; a mapped name hides the own one."""
    mapped = dict(incident.columns)
    taken = set(mapped.values())
    return {**{name: name for name in KINDS if name not in taken}, **mapped}


_SNIFFED = 100


_TELLING = {"request_id", "transfer_id", "received_at", "pool_tokens", "effective_at", "marker"}


def told_by(columns: set[str]) -> bool:
    """Say whether these columns make a plain file.

    Other formats have token counts and models too; a record needs an id, a time or a pool.
    """
    return len(columns) > 1 and not columns.isdisjoint(_TELLING)


def known_columns(head: bytes, incident: Incident) -> set[str]:
    """Return which of our columns the first JSON lines hold, as their own keys.

    Where no line can be read, keys are counted wherever they stand.
    """
    lines = islice((line for line in split_lines(head) if line.lstrip().startswith(b"{")), _SNIFFED)
    text = b"".join(lines)
    batches = _json_columns(incident).read(Block(text, 1, 0)).batches
    if batches:
        return {name for batch in batches for name in batch.columns}
    return {
        ours
        for name, ours in names(incident).items()
        if re.search(rb'"' + re.escape(name.encode()) + rb'"\s*:', text)
    }


def read_ndjson(opened: Opened, context: Context) -> Iterator[Parsed]:
    """Yield the records of NDJSON, in batches of many lines."""
    columns = _json_columns(context.incident)
    for found in batches(opened.blocks(READ_BYTES), columns):
        parsed = Parsed(read=found.read)
        parsed.unread += found.unread
        if found.blank:
            parsed.notes["blank line"] += found.blank
        for batch in found.batches:
            raw = merge_tenant(batch.columns)
            at = Raw(raw, batch.lines, batch.offsets, context.stated_node, apart=True)
            records.add(with_node(at), context, parsed)
        yield parsed


_TENANT = "tenant_from."


def _json_columns(incident: Incident) -> JsonColumns:
    paths: dict[str, Path] = {ours: (name,) for name, ours in names(incident).items()}
    kinds = dict(KINDS)
    for position, path in enumerate(incident.logs.tenant_from):
        key = f"{_TENANT}{position}"
        if tuple(path.split(".")) not in paths.values():
            paths[key], kinds[key] = tuple(path.split(".")), "name"
    return JsonColumns(paths, kinds)


def merge_tenant(columns: dict[str, pl.Series]) -> dict[str, pl.Series]:
    """Fill the tenant from the stated paths, the first that has one."""
    extra = sorted(
        (name for name in columns if name.startswith(_TENANT)),
        key=lambda name: int(name.removeprefix(_TENANT)),
    )
    if not extra:
        return columns
    found = {name: series for name, series in columns.items() if name not in extra}
    order = ["tenant_id", *extra] if "tenant_id" in found else extra
    found["tenant_id"] = first_value([columns[name] for name in order]).alias("tenant_id")
    return found


def with_node(raw: Raw) -> Raw:
    """Fill an absent node from ``[logs] node_from``, on the side that the hop names."""
    if raw.node is None or "hop" not in raw.columns:
        return raw
    columns = dict(raw.columns)
    hop = columns["hop"].cast(pl.String).str.to_lowercase()
    for side in ("prefill", "decode"):
        name = f"{side}_node"
        here = (
            pl.select(pl.when(hop == side).then(pl.lit(raw.node)).otherwise(None))
            .to_series()
            .cast(pl.String)
        )
        known = columns.get(name)
        columns[name] = (here if known is None else known.cast(pl.String).fill_null(here)).alias(
            name
        )
    return replace(raw, columns=columns)


def read_csv(opened: Opened, context: Context) -> Iterator[Parsed]:
    """Yield the records of CSV; quoted line ends are allowed.

    A row with the wrong number of fields is unreadable. When it spans several lines
    (a broken quote swallows its neighbours), each of them counts.
    """
    # As long as a line may be: what follows an open quote must not fill the memory.
    csv.field_size_limit(LONGEST_LINE)
    text = _TextLines(opened)
    rows = _Rows(csv.reader(text, strict=True))
    header = next(rows, [])
    if header is None:
        yield Parsed(read=1, unread=[Unread(1, 0, "CSV header that cannot be parsed")])
        header = []
    wanted = flat_names(context.incident)
    picked = [
        (at, wanted[name.strip()]) for at, name in enumerate(header) if name.strip() in wanted
    ]
    while True:
        parsed = Parsed()
        more = _csv_batch(rows, len(header), picked, text, context, parsed)
        yield parsed
        if not more:
            return


def flat_names(incident: Incident) -> dict[str, str]:
    """Return names as :func:`names` does, and those that hold the tenant, for flat formats."""
    paths = enumerate(incident.logs.tenant_from)
    own = names(incident)
    return {path: f"{_TENANT}{position}" for position, path in paths if path not in own} | own


class _Rows:
    """Rows of a CSV reader that goes on after a row it cannot parse (None then)."""

    def __init__(self, reader: _Reader) -> None:
        self._reader = reader

    def __iter__(self) -> _Rows:
        return self

    def __next__(self) -> list[str] | None:
        try:
            return next(self._reader)
        except csv.Error:
            return None

    @property
    def line_num(self) -> int:
        """Number of lines read so far."""
        return self._reader.line_num


class _TextLines:
    """Lines of a file as text, for :mod:`csv`; keeps bytes that are no UTF-8 apart."""

    def __init__(self, opened: Opened) -> None:
        self._blocks = opened.blocks()
        self._lines: Iterator[bytes] = iter(())
        self.too_long: list[Unread] = []

    def __iter__(self) -> _TextLines:
        return self

    def __next__(self) -> str:
        for line in self._lines:
            return line.decode("utf-8", "surrogateescape")
        block = next(self._blocks)
        if block.reason is not None:
            self.too_long.append(Unread(block.line, block.offset, block.reason))
            return "\n"  # stands for the line, so that those after it keep their numbers
        self._lines = iter(io.BytesIO(block.data))
        return next(self)


def _csv_batch(
    rows: _Rows,
    width: int,
    picked: list[tuple[int, str]],
    text: _TextLines,
    context: Context,
    parsed: Parsed,
) -> bool:
    """Read up to :data:`CSV_ROWS` rows into ``parsed``; return whether more may follow."""
    kept: list[list[str]] = []
    lines: list[int] = []
    before = rows.line_num
    more = False
    for row in islice(rows, CSV_ROWS):
        more = True
        line, after = before + 1, rows.line_num
        spanned, before = after - before, after
        if row == []:
            parsed.notes["blank line"] += 1
        elif row is None or len(row) != width:
            parsed.read += spanned
            reason = (
                "row that is no CSV: a quote or a line end out of place"
                if row is None
                else f"{len(row)} fields where the header has {width}"
            )
            parsed.unread += [Unread(line + step, None, reason) for step in range(spanned)]
        else:
            parsed.read += 1
            kept.append([row[at] for at, _ in picked])
            lines.append(line)
    parsed.read += len(text.too_long)
    parsed.unread += text.too_long
    parsed.notes["blank line"] -= len(text.too_long)
    text.too_long = []
    if kept:
        columns: dict[str, pl.Series] = {}
        for (_, name), cells in zip(picked, zip(*kept, strict=True), strict=True):
            series = pl.Series(name, [_utf8(cell) for cell in cells], dtype=pl.String)
            columns[name] = agreed(columns[name], series) if name in columns else series
        at = pl.Series(lines, dtype=pl.Int64)
        raw = Raw(merge_tenant(columns), at, None, context.stated_node, apart=True)
        records.add(with_node(raw), context, parsed)
    return more


def agreed(first: pl.Series, second: pl.Series) -> pl.Series:
    """Return what two columns of one name hold; where they differ it is no value."""
    texts = first.cast(pl.String)
    same = texts.eq_missing(second.cast(pl.String))
    nothing = pl.repeat(NOT_A_VALUE, len(first), dtype=pl.String, eager=True)
    return first if same.all() else texts.zip_with(same, nothing)


def _utf8(cell: str) -> str:
    """Return the cell, or a stand-in that fits no type where its bytes are no UTF-8."""
    return cell if cell.isascii() or not _broken(cell) else NOT_A_VALUE


def _broken(cell: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in cell)
