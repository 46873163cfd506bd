"""Coverage for the document: reach, holes, cliffs and the heat map, fitted to a page."""

from __future__ import annotations

from typing import Any

import polars as pl

from forensics import exposure as doc
from forensics.activity import HOUR
from forensics.analysis import Analysis
from forensics.coverage.cliffs import cliffs
from forensics.coverage.holes import KEPT
from forensics.exposure import stamp

COLUMNS, ROWS = 96, 40
"""Cells of the heat map at the most; coverage.csv has every hour of every node."""
_STEPS = (1, 2, 3, 4, 6, 8, 12, 24, 48, 72, 168)


def reach(analysis: Analysis) -> list[doc.HopReach]:
    """Return one row per hop with records: the share that it holds, and what it lost."""
    lost = (
        _lost(analysis)
        .group_by("hop")
        .agg(pl.len().cast(pl.Int64), pl.col("undecided").sum().cast(pl.Int64))
    )
    counts = {hop: (n, unknown) for hop, n, unknown in lost.iter_rows()}
    return [
        doc.HopReach(hop, round(100 * share, 1), share >= KEPT, *counts.get(hop, (0, 0)))
        for hop, share in analysis.holes.shares.select("hop", "share").iter_rows()
    ]


def holes(analysis: Analysis) -> list[doc.Hole]:
    """Return one row per hop and hour that lacks a request."""
    found = (
        _lost(analysis)
        .group_by("hop", "hour")
        .agg(pl.len().cast(pl.Int64), pl.col("undecided").sum().cast(pl.Int64))
        .sort("hop", "hour")
    )
    return [doc.Hole(hop, stamp(hour) or "", n, u) for hop, hour, n, u in found.iter_rows()]


def ends(analysis: Analysis) -> list[doc.Cliff]:
    """Return where logs begin late or end early."""
    found = cliffs(analysis.coverage.nodes, analysis.coverage.hours)
    return [
        doc.Cliff(node, hop, side, stamp(at), hours, beyond)
        for node, hop, side, at, hours, beyond in found.iter_rows()
    ]


def counters(analysis: Analysis) -> list[doc.Counted]:
    """Return what servers counted between their scrapes, beside the records of their nodes."""
    return [
        doc.Counted(node, stamp(first), stamp(last), *counts)
        for node, first, last, *counts in analysis.counted.iter_rows()
    ]


def _lost(analysis: Analysis) -> pl.DataFrame:
    unknown = analysis.requests.filter(pl.col("tier") == "not_assessable")["handoff"]
    return analysis.holes.lacking.with_columns(undecided=pl.col("handoff").is_in(unknown.implode()))


def heat(analysis: Analysis) -> doc.Heat:
    """Return the heat map: the nodes that miss most first, in as few hours a cell as fit."""
    rows = analysis.coverage.hours.filter(pl.col("hour").is_not_null())
    if not rows.height:
        return doc.Heat()
    start, end = int(rows["hour"].min()), int(rows["hour"].max())  # type: ignore[arg-type]
    step = _step((end - start) // HOUR + 1)
    missing = pl.col("gap") | pl.col("unlogged") | pl.col("thin")
    cell = start + (pl.col("hour") - start) // (step * HOUR) * (step * HOUR)
    counted = rows.group_by("hop", "node", cell.alias("at")).agg(
        pl.col("hour").filter(missing).n_unique().cast(pl.Int64).alias("missing"),
        pl.col("records").sum().cast(pl.Int64),
    )
    nodes = _nodes(counted)
    kept = nodes.head(ROWS)
    grid = kept.join(pl.DataFrame({"at": range(start, end + 1, step * HOUR)}), how="cross")
    keys = ["hop", "node", "at"]
    cells = grid.join(counted, on=keys, how="left", nulls_equal=True).sort(
        "order", "at", nulls_last=False
    )
    found = [_cell(row, step) for row in cells.iter_rows(named=True)]
    return doc.Heat(step, kept.height, nodes.height, found)


def _step(hours: int) -> int:
    return next((step for step in _STEPS if hours <= step * COLUMNS), -(-hours // COLUMNS))


def _nodes(counted: pl.DataFrame) -> pl.DataFrame:
    """Return the nodes in the order of the picture, with the span that each reaches."""
    spans = counted.group_by("hop", "node").agg(
        pl.col("missing").sum().alias("lost"),
        pl.col("at").min().alias("first"),
        pl.col("at").max().alias("last"),
    )
    ranked = spans.sort("lost", "hop", "node", descending=[True, False, False], nulls_last=False)
    return ranked.with_row_index("order")


def _cell(row: dict[str, Any], step: int) -> doc.HeatCell:
    inside = row["first"] <= row["at"] <= row["last"]
    missing, records = row["missing"] or 0, row["records"] or 0
    due = step if inside else 0
    state = "none due" if not inside or not (missing or records) else "records"
    if missing:
        state = "missing" if not records else "partly missing"
    at = stamp(row["at"]) or ""
    return doc.HeatCell(row["node"], row["hop"], at, due, missing, records, state)  # type: ignore[arg-type]
