"""The plain input format: NDJSON, CSV or Parquet with the product's own column names.

Foreign names are mapped by ``[columns]``; any other column is never read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import islice

import polars as pl

from forensics.incident import Incident
from forensics.sources import records
from forensics.sources.batches import batches
from forensics.sources.blocks import READ_BYTES, Block, Source
from forensics.sources.context import Context
from forensics.sources.csvcolumns import read_rows
from forensics.sources.jsonlines import JsonColumns, Path, split_lines
from forensics.sources.mixed import mixed
from forensics.sources.parsed import Parsed
from forensics.sources.records import KINDS, Raw
from forensics.sources.values import first_value


def names(incident: Incident) -> dict[str, str]:
    """Return foreign or own name to schema name; a mapped name hides the own one."""
    mapped = dict(incident.columns)
    taken = set(mapped.values())
    return {**{name: name for name in KINDS if name not in taken}, **mapped}


_SNIFFED = 100
TELLING = {"request_id", "transfer_id", "received_at", "pool_tokens", "effective_at", "marker"}
"""Columns by which plain records are told: an id, a time or a pool."""


def told_by(columns: set[str]) -> bool:
    """Say whether these columns make a plain file.

    Other formats have token counts and models too; a record needs an id, a time or a pool.
    """
    return len(columns) > 1 and not columns.isdisjoint(TELLING)


_VERDICTS = ({"tier", "reasons"}, {"affected", "delivered"})
"""Columns of a report's tables, and of the truth of a synthetic incident."""


def is_result(columns: Iterable[str], incident: Incident) -> bool:
    """Say whether a table is one that this project writes, of requests that were judged."""
    own = set(columns) - set(incident.columns)
    return "request_id" in own and any(verdict <= own for verdict in _VERDICTS)


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


def read_ndjson(opened: Source, context: Context) -> Iterator[Parsed]:
    """Yield the records of NDJSON, in batches of many lines."""
    columns = _json_columns(context.incident)
    for found in batches(mixed(opened, READ_BYTES), columns):
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
    return _columns_of(tuple(names(incident).items()), tuple(incident.logs.tenant_from))


@lru_cache(maxsize=32)
def _columns_of(named: tuple[tuple[str, str], ...], tenant_from: tuple[str, ...]) -> JsonColumns:
    # Kept: each file is asked several times whether it has these columns.
    paths: dict[str, Path] = {ours: (name,) for name, ours in named}
    kinds = dict(KINDS)
    for position, path in enumerate(tenant_from):
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


def read_csv(opened: Source, context: Context) -> Iterator[Parsed]:
    """Yield the records of CSV; quoted line ends are allowed."""
    for found in read_rows(opened, flat_names(context.incident), context):
        if len(found.lines):
            raw = merge_tenant(found.columns)
            at = Raw(raw, found.lines, None, context.stated_node, apart=True)
            records.add(with_node(at), context, found.parsed)
        yield found.parsed


def flat_names(incident: Incident) -> dict[str, str]:
    """Return names as :func:`names` does, and those that hold the tenant, for flat formats."""
    paths = enumerate(incident.logs.tenant_from)
    own = names(incident)
    return {path: f"{_TENANT}{position}" for position, path in paths if path not in own} | own
