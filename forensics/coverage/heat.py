"""The heat map: nodes by time, fitted to a page, from the rows of ``coverage.csv``."""

from __future__ import annotations

from typing import Any

import polars as pl

from forensics import exposure as doc
from forensics.activity import HOUR
from forensics.coverage.proved import partly
from forensics.exposure import stamp

COLUMNS, ROWS = 96, 40
"""Cells of the heat map at the most; coverage.csv has every hour of every node."""
_STEPS = (1, 2, 3, 4, 6, 8, 12, 24, 48, 72, 168)


def heat(rows: pl.DataFrame) -> doc.Heat:
    """Return the heat map: the nodes that miss most first, in as few hours a cell as fit.

    Args:
        rows: of :func:`forensics.coverage.proved.with_proved`.
    """
    rows = rows.with_columns(partly(rows)).filter(pl.col("hour").is_not_null())
    if not rows.height:
        return doc.Heat()
    start, end = int(rows["hour"].min()), int(rows["hour"].max())  # type: ignore[arg-type]
    step = _step((end - start) // HOUR + 1)
    missing = pl.col("gap") | pl.col("unlogged") | pl.col("thin") | pl.col("partly")
    cell = start + (pl.col("hour") - start) // (step * HOUR) * (step * HOUR)
    counted = rows.group_by("hop", "node", cell.alias("at")).agg(
        pl.col("hour").filter(missing).n_unique().cast(pl.Int64).alias("missing"),
        pl.col("records").sum().cast(pl.Int64),
    )
    nodes = _nodes(counted)
    nodeless = pl.col("node").is_null() & (pl.col("hop") != "gateway") & (pl.col("missing") > 0)
    # Of which node it is was not told: each without a record there may be the one.
    untold = counted.filter(nodeless).select("hop", "at", untold=pl.lit(value=True))
    kept = nodes.head(ROWS)
    grid = kept.join(pl.DataFrame({"at": range(start, end + 1, step * HOUR)}), how="cross")
    keys = ["hop", "node", "at"]
    cells = grid.join(counted, on=keys, how="left", nulls_equal=True)
    cells = cells.join(untold, on=["hop", "at"], how="left").sort("order", "at", nulls_last=False)
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
    due = step if inside or row["untold"] else 0
    none = "perhaps missing" if row["untold"] else "none due"
    state = "records" if records else none
    if missing:
        # What was lost of a hop's hour, and of which node is not told, is no whole hour.
        some = records or (row["node"] is None and row["hop"] != "gateway")
        state = "partly missing" if some else "missing"
    at = stamp(row["at"]) or ""
    return doc.HeatCell(row["node"], row["hop"], at, due, missing, records, state)  # type: ignore[arg-type]
