"""When each server of a hop wrote nothing for an hour or longer: no record, no line of a batch.

A server that wrote nothing was idle, or what it wrote is lost. Where its log begins and ends tells
that no better: a log that is cut off ends as one does whose node was taken away. Its ranks write to
one log, and count as one: a rank that is first heard of later was there before.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from forensics.activity import HOUR
from forensics.columns import ensure

MINUTE = 60_000_000
_NODE = {"prefill": "prefill_node", "decode": "decode_node"}


@dataclass(frozen=True)
class Silences:
    """Stretches (µs) in which a server of a hop wrote nothing, sorted, none within another.

    ``servers`` are those that wrote anything; with ``never``, one was started and wrote nothing.
    """

    begin: pl.Series
    end: pl.Series
    servers: pl.Series
    never: bool

    def over(self, rows: pl.DataFrame) -> pl.Series:
        """Say which rows of ``at`` (µs) and ``node`` were due when whoever had them was silent."""
        at = rows["at"].to_numpy()
        last = np.searchsorted(self.begin.to_numpy(), at) - 1
        within = (last >= 0) & (at < self.end.to_numpy()[last]) if len(self.end) else last >= 0
        wrote = pl.col("server").is_null() | pl.col("server").is_in(self.servers.implode())
        unheard = rows.select(server=server("node")).select(~wrote).to_series()
        return pl.Series(within) | unheard | self.never


def silences(
    observed: pl.DataFrame, worked: pl.DataFrame, epochs: pl.DataFrame, hop: str
) -> Silences:
    """Return when the servers of a hop were silent.

    Args:
        observed: records with ``hop`` and ``received_at``.
        worked: batch lines per node and hour, of :func:`forensics.activity.hourly`.
        epochs: capacity epochs: what was started there is a server of the hop too.
        hop: one of :data:`forensics.schema.HOPS`.
    """
    name = _NODE.get(hop, "hop")
    rows = ensure(observed, ["received_at", name]).filter(pl.col("hop") == hop)
    minute = pl.col("received_at") // MINUTE * MINUTE
    wrote = rows.select(server=server(name), begin=minute, end=minute + MINUTE)
    ran = worked.filter(pl.col("hop") == hop)
    ran = ran.select(server=server("node"), begin="hour", end=pl.col("hour") + HOUR)
    wrote = pl.concat([wrote, ran]).drop_nulls("begin").unique()
    named = wrote.drop_nulls("server")
    wrote = named if named.height else wrote
    started = epochs.filter(pl.col("role") == hop).select(server=server("node")).drop_nulls()
    never = started.join(named, on="server", how="anti").height > 0
    return Silences(*_together(_stretches(wrote)), named["server"].unique(), never)


def server(node: str) -> pl.Expr:
    """Return what stands before the rank in the names of a column."""
    return pl.col(node).str.replace(r"/[^/]*$", "")


def _stretches(wrote: pl.DataFrame) -> pl.DataFrame:
    """Return what lies before, between and after the lines of each server."""
    until = pl.col("end").cum_max()
    every = wrote.sort("server", "begin", "end", nulls_last=True).select(
        "server", "begin", until=until.over("server")
    )
    after = pl.col("begin").shift(-1).over("server")
    gaps = every.select(begin="until", end=after).filter(
        pl.col("end").is_null() | (pl.col("end") - pl.col("begin") >= HOUR - MINUTE)
    )
    ends = pl.col("end").fill_null(_EVER)
    before = every.group_by("server").agg(end=pl.col("begin").min())
    first = before.select(begin=pl.lit(-_EVER, dtype=pl.Int64), end="end")
    return pl.concat([gaps.with_columns(ends), first])


_EVER = 1 << 62


def _together(stretches: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
    """Return stretches that overlap as one, sorted."""
    rows = stretches.sort("begin", "end").with_columns(
        before=pl.col("end").cum_max().shift(1, fill_value=-_EVER)
    )
    group = ((pl.col("begin") > pl.col("before")) | (pl.int_range(pl.len()) == 0)).cum_sum()
    whole = rows.group_by(group=group).agg(pl.col("begin").min(), pl.col("end").max())
    whole = whole.sort("begin")
    return whole["begin"], whole["end"]
