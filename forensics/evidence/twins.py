"""Tables of which the document holds a part, or the sums: the two have to say the same.

A number that somebody changed in both the table and the hashes still stands in the
document, and a change there stands on the page.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl
from msgspec.structs import asdict

from forensics import declared, tables
from forensics.activity import HOUR
from forensics.coverage.heat import heat
from forensics.coverage.proved import PROVED
from forensics.encode import csv_bytes
from forensics.evidence.faults import Fault
from forensics.evidence.reporttables import REPORT_FILE, ReportTables
from forensics.exposure import Epoch, Exposure, NodeCoverage, stamp
from forensics.guard import Table

CAPACITY_FILE, COVERAGE_FILE = "capacity.csv", "coverage.csv"
_HOUR = len("2026-08-27T14")
_COUNTS = ("records", "batches", "sequences", "duplicates", "skipped")


def capacity(report: ReportTables, exposure: Exposure) -> Iterator[Fault]:
    """Each line of ``capacity.csv`` has the values of its epoch in the document."""
    changed = tables.changes_at(exposure)
    names = [name for name in declared.CAPACITY.dtypes if name in Epoch.__struct_fields__]
    rows = [asdict(epoch) for epoch in exposure.epochs]
    for row in rows:
        row["changed"] = changed.get((row["node"], row["effective_at"]), "")
    stated = _cells(rows, _part(declared.CAPACITY, [*names, "changed"]))
    found = report.table(CAPACITY_FILE).select(stated.columns)
    yield _unlike(CAPACITY_FILE, "lines", found.rows(), stated.rows())


def coverage(report: ReportTables, exposure: Exposure) -> Iterator[Fault]:
    """The hours of ``coverage.csv`` add up to what the document says of each node and hop."""
    table = report.table(COVERAGE_FILE)
    names = _cells([asdict(node) for node in exposure.coverage], _part(declared.COVERAGE, _BY))
    stated = [
        (*name, *_stated(node)) for name, node in zip(names.rows(), exposure.coverage, strict=True)
    ]
    hours = table.with_columns(pl.col(*_COUNTS).cast(pl.Int64))
    yield from _hours(hours, exposure)
    # A line for requests that other hops prove alone is of no node of the document.
    only_proved = pl.all_horizontal(
        pl.col("proved_elsewhere") != "0",
        *(pl.col(name) == 0 for name in _COUNTS),
        pl.col("gap") == "false",
    )
    hours = hours.filter(~only_proved)
    found = [(*name, *_summed(rows)) for name, rows in hours.group_by(_BY, maintain_order=True)]
    yield _unlike(COVERAGE_FILE, "nodes and hops", _sorted(found), _sorted(stated))
    at = hours.select(*_BY, "hour")
    yield Fault(COVERAGE_FILE, "hours that are listed twice", int(at.is_duplicated().sum()), 0)


def _hours(table: pl.DataFrame, exposure: Exposure) -> Iterator[Fault]:
    """Lines without a record stand where the document has them: in its map, and by hop and hour."""
    lines = table.select(
        *_BY,
        pl.col("hour").str.to_datetime(time_unit="us", time_zone="UTC").dt.timestamp("us"),
        pl.col("records"),
        pl.col(PROVED).cast(pl.Int64),
        *(pl.col(name) == "true" for name in ("gap", "unlogged", "thin")),
    )
    found = heat(lines)
    yield _unlike(COVERAGE_FILE, "cells of the map", found.cells, exposure.heat.cells)
    lost = lines.filter(pl.col(PROVED) > 0).group_by("hop", "hour").agg(pl.col(PROVED).sum())
    holes = [(hop, stamp(hour), number) for hop, hour, number in lost.sort("hop", "hour").rows()]
    stated = [(hole.hop, hole.hour, hole.requests) for hole in exposure.holes]
    yield _unlike(COVERAGE_FILE, "holes", holes, stated)
    yield Fault(COVERAGE_FILE, "hours of gaps that hold records elsewhere", _astray(lines), 0)


def _astray(lines: pl.DataFrame) -> int:
    """Return how many gaps do not lie where their node has no record, within its span."""
    astray = 0
    for _, rows in lines.group_by(_BY, maintain_order=True):
        seen = rows.filter(pl.col("records") > 0)["hour"]
        gaps = rows.filter("gap")["hour"]
        if gaps.len() and seen.len():
            span = set(range(int(seen.min()), int(seen.max()) + 1, HOUR))  # type: ignore[arg-type]
            astray += len(set(gaps) - (span - set(seen)))
    return astray


_BY = ["node", "hop"]


def _stated(node: NodeCoverage) -> tuple[Any, ...]:
    span = (_hour(node.first_at), _hour(node.last_at))
    counts = (getattr(node, name) for name in _COUNTS)
    return (*counts, node.gaps, node.hours_with_records, *span)


def _summed(rows: pl.DataFrame) -> tuple[Any, ...]:
    seen = rows.filter(pl.col("records") > 0)["hour"]
    span = (_hour(seen.min()), _hour(seen.max()))
    counts = (int(rows[name].sum()) for name in _COUNTS)
    return (*counts, int((rows["gap"] == "true").sum()), len(seen), *span)


def _hour(time: Any) -> str | None:
    return None if time is None else str(time)[:_HOUR]


def _part(table: Table, names: Sequence[str]) -> Table:
    return Table(table.name, tuple(field for field in table.fields if field.name in names))


def _cells(rows: Sequence[Mapping[str, Any]], part: Table) -> pl.DataFrame:
    """Return rows of the document as the text that a CSV of them holds."""
    kinds = part.dtypes
    texts = {name: pl.String() if dtype.is_temporal() else dtype for name, dtype in kinds.items()}
    frame = pl.DataFrame([[row[name] for name in kinds] for row in rows], texts, orient="row")
    times = [name for name, dtype in kinds.items() if dtype.is_temporal()]
    frame = frame.with_columns(pl.col(times).str.to_datetime(time_unit="us", time_zone="UTC"))
    return pl.read_csv(io.BytesIO(csv_bytes(frame, part)), infer_schema=False)


def _sorted(rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(rows, key=lambda row: [str(value) for value in row[: len(_BY)]])


def _unlike(name: str, what: str, found: Sequence[Any], stated: Sequence[Any]) -> Fault:
    differ = sum(one != other for one, other in zip(found, stated, strict=False))
    number = differ + abs(len(found) - len(stated))
    return Fault(name, f"{what} that are not those of {REPORT_FILE}", number, 0)
