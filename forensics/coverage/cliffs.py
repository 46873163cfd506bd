"""Retention cliffs: where a log begins or ends while its neighbours go on."""

from __future__ import annotations

import polars as pl

from forensics.activity import HOUR
from forensics.coverage.alive import server

CLIFFS: dict[str, pl.DataType] = {
    "node": pl.String(),
    "hop": pl.String(),
    "side": pl.String(),
    "at": pl.Int64(),
    "hours": pl.Int64(),
    "beyond": pl.Int64(),
}


def cliffs(nodes: pl.DataFrame, hours: pl.DataFrame) -> pl.DataFrame:
    """Return one row per node and end of its log at which others have an hour more or longer.

    Args:
        nodes: node, hop, ``first_at`` and ``last_at`` (µs) of :func:`forensics.coverage.measure`.
        hours: its hours, with records and batches.

    Returns:
        :data:`CLIFFS`: ``at`` is the first or last record, or the hour of a batch that lies beyond
        it, ``hours`` how much longer the others reach, ``beyond`` how many records of theirs lie
        there. A node that was added later or taken away looks the same.
    """
    known = nodes.filter(pl.col("first_at").is_not_null())
    if not known.height:
        return pl.DataFrame(schema=CLIFFS)
    first, last = known["first_at"].min(), known["last_at"].max()
    known = _reach(known, hours)
    ends = [
        _side(known, hours, "start", pl.col("first_at") - pl.lit(first, dtype=pl.Int64)),
        _side(known, hours, "end", pl.lit(last, dtype=pl.Int64) - pl.col("last_at")),
    ]
    return pl.concat(ends).sort("hop", "node", "side", nulls_last=False)


def _reach(nodes: pl.DataFrame, hours: pl.DataFrame) -> pl.DataFrame:
    """Return the nodes with the times from which to which their server's log holds any line.

    An engine that logs some requests only has no record of the others, and its log goes on.
    """
    worked = hours.filter(pl.col("batches") > 0).with_columns(server("node").alias("server"))
    worked = worked.group_by("server").agg(
        begun=pl.col("hour").min(), done=pl.col("hour").max() + HOUR
    )
    return (
        nodes.with_columns(server("node").alias("server"))
        .join(worked, on="server", how="left")
        .with_columns(
            first_at=pl.min_horizontal("first_at", "begun"),
            last_at=pl.max_horizontal("last_at", "done"),
        )
    )


def _side(nodes: pl.DataFrame, hours: pl.DataFrame, side: str, apart: pl.Expr) -> pl.DataFrame:
    at = "first_at" if side == "start" else "last_at"
    rows = nodes.select("node", "hop", at=at, hours=apart // HOUR).filter(pl.col("hours") >= 1)
    edge = rows["at"] // HOUR * HOUR
    beyond = [
        int(
            hours.filter(pl.col("hour") < hour if side == "start" else pl.col("hour") > hour)[
                "records"
            ].sum()
        )
        for hour in edge
    ]
    found = rows.with_columns(side=pl.lit(side), beyond=pl.Series(beyond, dtype=pl.Int64))
    return found.select(pl.col(name).cast(dtype) for name, dtype in CLIFFS.items())
