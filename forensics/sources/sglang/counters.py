"""How many requests a server says it has finished since its start, from timed scrapes.

The count is of the server, not of a rank, and split by labels that do not matter here. A scrape
without times of its samples says nothing: when it was taken is not known.
"""

from __future__ import annotations

import polars as pl

from forensics.sources.context import Context
from forensics.sources.parsed import Parsed

FINISHED = "num_requests_total"
"""Name of the counter: one more as each request ends, whatever became of it."""
UNTIMED = "counter of a scrape without a time"


def take(samples: pl.DataFrame, context: Context, parsed: Parsed) -> pl.DataFrame:
    """Hand on the counters among the samples, and return the others.

    Args:
        samples: of one server: gauge, count, time, engine_type.
        context: file and node.
        parsed: gets the rows, and what is kept and left out.
    """
    own = samples.filter(pl.col("gauge") == FINISHED)
    timed = own.filter(pl.col("time").is_not_null() & pl.col("count").is_not_null())
    parsed.kept += timed.height
    if own.height > timed.height:
        parsed.ignored[UNTIMED] += own.height - timed.height
    if timed.height:
        parsed.activity.append(_rows(timed, context))
    return samples.filter(pl.col("gauge") != FINISHED)


def _rows(timed: pl.DataFrame, context: Context) -> pl.DataFrame:
    role = pl.col("engine_type").drop_nulls()
    one = pl.when(role.n_unique() == 1).then(role.first())
    summed = timed.group_by("time").agg(pl.col("count").sum(), role=one).sort("time")
    node = pl.lit(context.node)
    return summed.select(
        node.alias("node"),
        pl.when(pl.col("role") != "unified").then("role").alias("hop"),
        at="time",
        finished="count",
        naive=pl.lit(value=False),
        source_node=node,
        file=pl.lit(context.number, dtype=pl.Int32),
    )
