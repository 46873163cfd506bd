"""Lineage: where each value of a listed request was read."""

from __future__ import annotations

import polars as pl

from forensics import schema
from forensics.sources.reading import FileFacts

LINEAGE_TABLE: dict[str, pl.DataType] = {
    "request_id": pl.String(),
    "attempt": pl.Int64(),
    "column": pl.String(),
    "value": pl.String(),
    "hop": pl.String(),
    "file": pl.String(),
    "line": pl.Int64(),
}


def lineage(rows: pl.DataFrame, observations: pl.DataFrame, files: list[FileFacts]) -> pl.DataFrame:
    """Return one row per value that a hop logged for one of ``rows``, used or not.

    Args:
        rows: requests with their ``handoff``.
        observations: records with ``handoff``, ``file`` and ``line``.
        files: for the names of the files.
    """
    keys = rows.select("handoff", "attempt", listed="request_id")
    found = observations.join(keys, on="handoff")
    names = [c.name for c in schema.REQUEST_COLUMNS if c.name in found.columns]
    values = found.with_columns(_as_text(name, found.schema[name]) for name in names)
    long = values.unpivot(
        names,
        index=["listed", "attempt", "hop", "file", "line"],
        variable_name="column",
        value_name="value",
    ).filter(pl.col("value").is_not_null())
    number = pl.DataFrame(
        {"file": [f.number for f in files], "name": [f.name for f in files]},
        schema={"file": pl.Int32, "name": pl.String},
    )
    return (
        long.join(number, on="file", how="left")
        .select(
            pl.col("listed").alias("request_id"),
            "attempt",
            "column",
            "value",
            "hop",
            pl.col("name").alias("file"),
            "line",
        )
        .unique()
        .sort("request_id", "attempt", "column", "hop", "value", "file", "line", nulls_last=False)
    )


_TIMES = [column.name for column in schema.REQUEST_COLUMNS if column.kind == "time"]


def _as_text(name: str, dtype: pl.DataType) -> pl.Expr:
    if name in _TIMES:
        stamp = pl.col(name).cast(pl.Datetime("us")).dt.to_string("%Y-%m-%dT%H:%M:%S%.6fZ")
        return stamp.alias(name)
    if dtype == pl.Boolean:
        return (
            pl.when(pl.col(name))
            .then(pl.lit("true"))
            .when(~pl.col(name))
            .then(pl.lit("false"))
            .alias(name)
        )
    return pl.col(name).cast(pl.String)
