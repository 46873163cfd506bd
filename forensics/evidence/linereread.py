"""Records of one input read once more, for their places and identifiers alone.

Where a record is not one line of a file as it lies there (tables, wrapped lines, documents, rows
of an evidence set), only its reader tells which record a number stands for.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl

from forensics.errors import ForensicsError
from forensics.evidence.inputs import Located
from forensics.incident import parse
from forensics.scratch import scratch_folder
from forensics.sources.reading import Shard, read_shard

IDS = ("request_id", "transfer_id", "trace_id")
"""Columns by which a record is told to be of a request."""
_ID = "id"


def again(item: Located, incident: dict[str, Any], form: str | None) -> pl.DataFrame | None:
    """Return ``line`` and ``id`` of each record of an input; of one without an id it is null.

    Args:
        item: the input, as it was when the report was made.
        incident: the incident that the report was made by.
        form: the format that was stated for all inputs.

    Returns:
        None where it cannot be read as it was.
    """
    try:
        with scratch_folder() as folder:
            source = replace(item.input, number=0)
            reading = read_shard(Shard((source,), parse(incident), folder, form))
            frames = [_places(pl.scan_parquet(part)) for part in reading.parts]
            return pl.concat(frames).unique() if frames else _places(pl.LazyFrame({"line": []}))
    except (ForensicsError, OSError, pl.exceptions.PolarsError):
        return None


def _places(rows: pl.LazyFrame) -> pl.DataFrame:
    here = rows.collect_schema().names()
    ids = [pl.col(name).cast(pl.String) for name in IDS if name in here]
    line = pl.col("line").cast(pl.Int64)
    if not ids:
        return rows.select(line, pl.lit(None, dtype=pl.String).alias(_ID)).unique().collect()
    long = rows.select(line, *ids).unpivot([one.meta.output_name() for one in ids], index="line")
    return long.select("line", pl.col("value").alias(_ID)).unique().collect()
