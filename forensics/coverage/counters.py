"""What servers count of the requests they finished, against the records of their nodes.

A counter names no request: that it has more than the logs hold is a fact about the logs, and
says of nobody what the lost record would have shown. One that falls was set back by a start of
the server, and goes on from zero: what it says is then the least. Requests in flight at either
end are counted or logged on the other side of it, so a few more or less are no sign.

Beside the prompts of a call (:mod:`forensics.coverage.sequences`) no format numbers its records.
Entries of the journal are numbered over all units, so what a unit's export leaves out looks like
a loss; ids of requests and of hand-offs are random; batch lines that carry a number leave others
out by design; lines behind Loki, CRI or Docker have times alone. An attempt is numbered here,
and by no log.
"""

from __future__ import annotations

import polars as pl

from forensics import schema
from forensics.clock import Clocks
from forensics.columns import ensure
from forensics.coverage.doubled import NODE

COUNTED: dict[str, pl.DataType] = {
    "node": pl.String(),
    "first_at": pl.Int64(),
    "last_at": pl.Int64(),
    "scrapes": pl.Int64(),
    "counted": pl.Int64(),
    "logged": pl.Int64(),
}
_SERVER = r"/[^/]*$"
READ = ("hop", "prefill_node", "decode_node", "received_at", "finished_at")
"""What is read of records."""


def counts(found: list[pl.DataFrame]) -> bool:
    """Say whether any server counted requests."""
    counted = (one["finished"] for one in found if "finished" in one.columns)
    return any(one.null_count() < one.len() for one in counted)


def measure(
    found: list[pl.DataFrame], clocks: Clocks, observed: pl.DataFrame, probed: pl.DataFrame
) -> pl.DataFrame:
    """Return :data:`COUNTED`, one row per server of which two scrapes or more are known.

    Args:
        found: frames of :data:`forensics.schema.ACTIVITY_COLUMNS`, in any split.
        clocks: zone of each node's wall clock.
        observed: records with ``handoff``.
        probed: those of health checks and warm-ups, which a server counts as well.
    """
    wanted = {**schema.dtypes(schema.ACTIVITY_COLUMNS), "naive": pl.Boolean()}
    wanted["source_node"] = pl.String()
    frame = pl.concat([pl.DataFrame(schema=wanted), *found], how="diagonal_relaxed")
    frame = frame.filter(pl.col("finished").is_not_null())
    if not frame.height:
        return pl.DataFrame(schema=COUNTED)
    spans = _spans(clocks.resolve(frame, ["at"]).drop_nulls(["node", "at"]))
    ended = pl.concat([_ended(observed, "handoff"), _ended(probed, "row")])
    inside = ended.join(spans, on="node").filter(
        (pl.col("at") > pl.col("first_at")) & (pl.col("at") <= pl.col("last_at"))
    )
    logged = inside.group_by("node").agg(logged=pl.len().cast(pl.Int64))
    rows = spans.join(logged, on="node", how="left").with_columns(pl.col("logged").fill_null(0))
    return rows.select(pl.col(name).cast(dtype) for name, dtype in COUNTED.items()).sort("node")


def _spans(scrapes: pl.DataFrame) -> pl.DataFrame:
    """Return what each server counted between its first scrape and its last."""
    rows = scrapes.group_by("node", "at").agg(pl.col("finished").max()).sort("node", "at")
    more = pl.col("finished").diff().over("node")
    counted = pl.when(more < 0).then("finished").otherwise(more)
    spans = (
        rows.with_columns(counted=counted)
        .group_by("node")
        .agg(
            pl.col("at").min().alias("first_at"),
            pl.col("at").max().alias("last_at"),
            pl.len().alias("scrapes"),
            pl.col("counted").sum(),
        )
    )
    return spans.filter(pl.col("scrapes") > 1)


def _ended(records: pl.DataFrame, key: str) -> pl.DataFrame:
    """Return each request that a server logged, with the last time that it gave it."""
    rows = ensure(records, ["prefill_node", "decode_node", "received_at", "finished_at", "hop"])
    if key not in rows.columns:
        rows = rows.with_row_index(key)
    at = pl.max_horizontal("received_at", "finished_at")
    own = rows.select(pl.col(key).cast(pl.UInt32), node=NODE.str.replace(_SERVER, ""), at=at)
    return own.drop_nulls(["node", "at"]).group_by("node", key).agg(pl.col("at").max()).drop(key)


def short(counted: pl.DataFrame) -> int:
    """Return how many requests servers counted that no record of theirs stands for."""
    more = (pl.col("counted") - pl.col("logged")).clip(lower_bound=0)
    return int(counted.select(more.sum()).item())
