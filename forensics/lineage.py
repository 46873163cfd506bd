"""Lineage: where each value of a listed request was read."""

from __future__ import annotations

import polars as pl

from forensics import schema
from forensics.sources.reading import FileFacts

LINEAGE_TABLE: dict[str, pl.DataType] = {
    "request_id": pl.String(),
    "attempt": pl.Int64(),
    "tenant_id": pl.String(),
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
    keys = rows.select("handoff", "attempt", listed="request_id", tenant="tenant_id")
    found = observations.join(keys, on="handoff")
    ids = keys["listed"].unique().sort()
    pieces = [
        _piece(found.filter(_one_of(ids.slice(start, _AT_A_TIME))), files)
        for start in range(0, len(ids), _AT_A_TIME)
    ]
    return pl.concat([pl.DataFrame(schema=LINEAGE_TABLE), *pieces])


def _one_of(ids: pl.Series) -> pl.Expr:
    """Say which rows are of one of some requests; that of no identifier may be among these."""
    return pl.col("listed").is_in(ids.to_list(), nulls_equal=True)


_AT_A_TIME = 20_000
"""Requests whose values are sorted together: in order of the ids, memory stays bounded."""


def _piece(found: pl.DataFrame, files: list[FileFacts]) -> pl.DataFrame:
    logged = (*schema.REQUEST_COLUMNS, *schema.ENGINE_COLUMNS)
    names = [column.name for column in logged if column.name in found.columns]
    values = found.with_columns(as_text(name, found.schema[name]) for name in names)
    long = values.unpivot(
        names,
        index=["listed", "attempt", "tenant", "hop", "file", "line"],
        variable_name="column",
        value_name="value",
    ).filter(pl.col("value").is_not_null())
    file = pl.col("file").replace_strict(
        [f.number for f in files], [f.name for f in files], return_dtype=pl.String
    )
    renamed = long.with_columns(request_id="listed", tenant_id="tenant", file=file)
    order = [name for name in LINEAGE_TABLE if name not in ("value", "file", "line")]
    return renamed.select(*LINEAGE_TABLE).sort(*order, "value", "file", "line", nulls_last=False)


_TIMES = [column.name for column in schema.REQUEST_COLUMNS if column.kind == "time"]


def as_text(name: str, dtype: pl.DataType) -> pl.Expr:
    """Return a column as it stands in ``value``: times in UTC, flags as true or false."""
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
