"""Records that were left out, because an equal one stands for them: per node, hop and hour.

Their number is that of the accounting per file: what has no time stands beside the hours.
"""

from __future__ import annotations

import polars as pl

from forensics.activity import HOUR
from forensics.believed import JOINED
from forensics.columns import ensure
from forensics.schema import ENGINE_HOP

AGAIN: dict[str, pl.DataType] = {
    "node": pl.String(),
    "hop": pl.String(),
    "hour": pl.Int64(),
    "duplicates": pl.Int64(),
}
NODE = (
    pl.when(pl.col("hop") == "prefill")
    .then("prefill_node")
    .when(pl.col("hop") == "decode")
    .then("decode_node")
)
"""The node whose log holds a record, by its hop."""


def again(records: pl.DataFrame, lines: pl.DataFrame) -> pl.DataFrame:
    """Count what was left out, under :data:`AGAIN`.

    Args:
        records: equal ones of requests, with ``hop`` and the nodes.
        lines: repeated ones that name no request, with ``node`` and ``at``; their side is open.
    """
    rows = ensure(records, ["prefill_node", "decode_node", "received_at", "hop"])
    named = rows.with_columns(pl.col("hop").fill_null(JOINED))
    both = [
        named.select(node=NODE, hop="hop", at="received_at"),
        lines.select("node", hop=pl.lit(ENGINE_HOP), at="at"),
    ]
    hour = pl.col("at") // HOUR * HOUR
    counted = pl.concat(both).group_by("node", "hop", hour.alias("hour")).agg(duplicates=pl.len())
    return counted.select(pl.col(name).cast(dtype) for name, dtype in AGAIN.items())


def attach(hours: pl.DataFrame, beside: pl.DataFrame) -> pl.DataFrame:
    """Add what was counted beside the records to hours of nodes, and rows for what no hour holds.

    A line whose side is open is of the side that its node logs, where it is one alone.
    """
    sides = hours.filter(pl.col("node").is_not_null()).select("node", side="hop").unique()
    sides = sides.filter(pl.col("node").is_unique())
    rows = beside.join(sides, on="node", how="left")
    open_ = (pl.col("hop") == ENGINE_HOP) & pl.col("side").is_not_null()
    rows = rows.with_columns(hop=pl.when(open_).then("side").otherwise("hop"))
    at = ["node", "hop", "hour"]
    rows = rows.group_by(at).agg(pl.exclude("side").sum())
    joined = hours.join(rows, on=at, how="full", coalesce=True, nulls_equal=True)
    counts = [name for name, dtype in joined.schema.items() if dtype == pl.Int64 and name != "hour"]
    flags = [name for name, dtype in joined.schema.items() if dtype == pl.Boolean]
    return joined.with_columns(
        pl.col(counts).fill_null(0), pl.col(flags).fill_null(value=False)
    ).sort(at, nulls_last=False)
