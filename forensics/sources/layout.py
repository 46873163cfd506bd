"""How rows lie in an evidence set: kinds of rows, their columns, and the folder of a row.

Rows keep the columns of the schema and where they stand in their file; the file itself
is the input that the Parquet file is named after. Values are what the readers kept:
times are integer microseconds, and those marked ``naive`` still lack their zone; those of
the year 4 lack their year (:mod:`forensics.years`).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from urllib.parse import quote

import polars as pl

from forensics import fields, guard, schema
from forensics.fields import Field
from forensics.guard import Table
from forensics.schema import ENGINE_HOP, HOPS, Column

UNKNOWN = "unknown"
MIXED = "mixed"
MOST_FOLDERS = 512
"""A log that names a node per request must not make a folder for each: it gets ``mixed``."""
_LONGEST = 96

_ORIGIN = (
    Field("line", pl.Int64()),
    Field("naive", pl.Boolean()),
    fields.text("source_node", fields.identifier),
)
_HOP = fields.text("hop", fields.one_of((*HOPS, ENGINE_HOP)))


@dataclass(frozen=True)
class Kind:
    """One kind of rows: its folder, its table, and the columns that tell a row's day and node."""

    name: str
    table: Table
    times: tuple[str, ...]
    nodes: tuple[str, ...]


def _kind(
    name: str, columns: tuple[Column, ...], times: tuple[str, ...], nodes: tuple[str, ...]
) -> Kind:
    held = [_HOP if column.name == "hop" else fields.of(column) for column in columns]
    return Kind(name, guard.table(name, held, _ORIGIN), times, nodes)


_REQUEST_TIMES = ("received_at", "finished_at", "reserved_at", "released_at")
_REQUEST_NODES = ("source_node", "decode_node", "prefill_node")

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        _kind(
            "observations",
            (*schema.OBSERVATION_COLUMNS, *schema.ENGINE_COLUMNS),
            _REQUEST_TIMES,
            _REQUEST_NODES,
        ),
        _kind(
            "capacity",
            (*schema.CAPACITY_COLUMNS, schema.CAPACITY_EVENT),
            ("effective_at",),
            ("source_node", "node"),
        ),
        _kind("markers", schema.MARKER_COLUMNS, ("seen_at",), ("source_node",)),
        _kind("traces", schema.TRACE_COLUMNS, ("at",), ("source_node", "node")),
        _kind("activity", schema.ACTIVITY_COLUMNS, ("at",), ("source_node", "node")),
    )
}

PART = guard.table(
    "part of the reading pass", KINDS["observations"].table.fields, Field("file", pl.Int32())
)
"""Rows of requests between the reading pass and the analysis."""


def places(rows: pl.DataFrame, kind: Kind) -> pl.DataFrame:
    """Return day and node of each row: the folders that it belongs to."""
    found = rows.select(_day(rows, kind), _node(rows, kind))
    if found.n_unique() > MOST_FOLDERS:
        found = found.with_columns(node=pl.lit(MIXED))
    if found["day"].n_unique() > MOST_FOLDERS:
        found = found.with_columns(day=pl.lit(MIXED))
    return found


def _day(rows: pl.DataFrame, kind: Kind) -> pl.Expr:
    times = [name for name in kind.times if name in rows.columns]
    at = pl.coalesce(times) if times else pl.lit(None, dtype=pl.Int64)
    day = at.cast(pl.Int64).cast(pl.Datetime("us")).dt.to_string("%Y-%m-%d")
    return day.fill_null(UNKNOWN).alias("day")


def _node(rows: pl.DataFrame, kind: Kind) -> pl.Expr:
    """The engine without its rank: ranks of one server share a folder."""
    names = [name for name in kind.nodes if name in rows.columns]
    node = pl.coalesce(names) if names else pl.lit(None, dtype=pl.String)
    return node.cast(pl.String).str.replace(r"/[^/]*$", "").fill_null(UNKNOWN).alias("node")


def folder(day: str, node: str) -> str:
    """Return the folder of a day and node, below that of the kind."""
    return f"day={day}/node={_safe(node)}"


def _safe(node: str) -> str:
    """Return a node's name as a file system takes it; long ones are cut and told apart."""
    name = quote(node, safe="._-")
    if len(name) <= _LONGEST:
        return name
    return f"{name[: _LONGEST - 17]}~{hashlib.sha256(node.encode()).hexdigest()[:16]}"


def key_of(sha256: str, node: str) -> str:
    """Return the name of an input in a set: its content and whose log it is.

    Two engines can write the same bytes, in an idle hour; one engine's file and its copy
    are the same input.
    """
    return f"{sha256[:16]}-{hashlib.sha256(node.encode()).hexdigest()[:8]}"
