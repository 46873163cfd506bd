"""Batch lines per node and hour: that an engine worked, where its requests were not logged.

No batch line names a request, and not every version prints them: their absence says
nothing. The same lines of a quarter of an hour in two files are those of a copy. A node
that ran batches in an hour without a record of a request has work in it that these logs
cannot account for.
"""

from __future__ import annotations

import polars as pl

from forensics import schema
from forensics.clock import Clocks

HOUR = 3_600_000_000
_COUNTED = ("batches", "sequences", "single_page_batches")
_PLACE = ("node", "hop", "at")
HOURLY: dict[str, pl.DataType] = {
    "node": pl.String(),
    "hop": pl.String(),
    "hour": pl.Int64(),
    **{name: pl.Int64() for name in _COUNTED},
}


def hourly(found: list[pl.DataFrame], clocks: Clocks) -> pl.DataFrame:
    """Return :data:`HOURLY`, one row per node, hop and hour of UTC with a batch line.

    Args:
        found: frames of :data:`forensics.schema.ACTIVITY_COLUMNS`, in any split.
        clocks: zone of each node's wall clock.
    """
    if not found:
        return pl.DataFrame(schema=HOURLY)
    wanted = {
        **schema.dtypes(schema.ACTIVITY_COLUMNS),
        "naive": pl.Boolean(),
        "source_node": pl.String(),
        "file": pl.Int32(),
    }
    frame = pl.concat([pl.DataFrame(schema=wanted), *found], how="diagonal_relaxed")
    frame = frame.filter(pl.col("batches").is_not_null())
    frame = clocks.resolve(frame, ["at"]).filter(pl.col("at").is_not_null())
    # A file is read in blocks, which may part a quarter of an hour anywhere.
    summed = [pl.col(name).fill_null(0).sum().cast(pl.Int64) for name in (*_COUNTED, "lines")]
    frame = frame.group_by(*_PLACE, "file").agg(summed).unique([*_PLACE, *_COUNTED, "lines"])
    hour = (pl.col("at") // HOUR) * HOUR
    counted = frame.group_by("node", "hop", hour.alias("hour")).agg(
        pl.col(name).sum() for name in _COUNTED
    )
    return counted.select(*HOURLY).sort("node", "hop", "hour", nulls_last=False)


def unlogged(hours: pl.DataFrame, named: pl.DataFrame) -> pl.Series:
    """Say in which hours a node worked though no record names it.

    An hour counts where no record names the node, or its server without a rank, in it or in
    the hour before, whose requests may still run. Batches of one page may be health
    checks, and show nothing.

    Args:
        hours: node, hour, batches and single_page_batches; one row each.
        named: node and hour of every record, from any hop; hour is null where it has no time.
    """
    timeless = named.filter(pl.col("hour").is_null())
    seen = pl.concat([named, named.with_columns(pl.col("hour") + HOUR)]).drop_nulls()
    rows = hours.select("node", "hour", "batches", "single_page_batches").with_row_index("_row")
    server = pl.col("node").str.replace(r"/[^/]*$", "")
    known = [
        asked.join(told, on=key, how="semi")["_row"]
        for asked in (rows, rows.with_columns(node=server))
        for told, key in ((seen, ["node", "hour"]), (timeless, ["node"]))
    ]
    logged = pl.col("_row").is_in(pl.concat(known).implode())
    worked = pl.col("batches") > pl.col("single_page_batches")
    return rows.select((worked & ~logged).alias("unlogged")).to_series()
