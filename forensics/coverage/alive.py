"""When each server of a hop wrote nothing for an hour or longer: no record, no line of a batch.

A shorter time counts where the server's own traffic makes it no chance.

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
from forensics.coverage import pauses
from forensics.coverage.stretches import together

MINUTE = 60_000_000
MARGIN = 5 * MINUTE
"""How far the clocks of two nodes may be apart, and a silence reaches into the lines beside it."""
LONG = HOUR - MINUTE
"""From what length (µs) on a silence of a server counts: minutes are told, and no seconds."""
STEADY = 10
"""Minutes of an hour with records from which these alone tell of silences."""
_NODE = {"prefill": "prefill_node", "decode": "decode_node"}


@dataclass(frozen=True)
class Lines:
    """What else shows that a server was there: lines of batches per hour, and what was started.

    Attributes:
        worked: of :func:`forensics.activity.hourly`.
        epochs: capacity epochs: what was started there is a server of the hop too.
    """

    worked: pl.DataFrame
    epochs: pl.DataFrame


@dataclass(frozen=True)
class Silences:
    """Stretches (µs) in which a server of a hop wrote nothing, sorted, none within another.

    With ``never``, one was started and wrote nothing.
    """

    begin: pl.Series
    end: pl.Series
    never: bool

    def over(self, at: pl.Series) -> pl.Series:
        """Say at which times (µs) a server was silent, or that one always was."""
        asked = at.to_numpy()
        last = np.searchsorted(self.begin.to_numpy(), asked, side="right") - 1
        within = (last >= 0) & (asked < self.end.to_numpy()[last]) if len(self.end) else last >= 0
        return pl.Series(within) | self.never


def silences(due: pl.Series, observed: pl.DataFrame, lines: Lines, hop: str) -> Silences:
    """Return when the servers of a hop were silent.

    Args:
        due: when requests were (µs) of which the hop should have a record: what comes before
            its first line or after its last is as long as there are any.
        observed: records with ``hop`` and ``received_at``.
        lines: what else shows that a server was there.
        hop: one of :data:`forensics.schema.HOPS`.
    """
    wrote = minutes(observed, hop)
    ran = batches(lines.worked, hop).join(_steady(wrote), on="server", how="anti")
    wrote = pl.concat([wrote, ran])
    named = wrote.drop_nulls("server")
    wrote = named if named.height else wrote
    never = not started(lines.epochs, hop).is_in(named["server"].implode()).all()
    return Silences(*together(_stretches(wrote, due)), never)


def minutes(observed: pl.DataFrame, *hops: str) -> pl.DataFrame:
    """Return ``server``, ``begin`` and ``end`` (µs) of each minute with a record of some hops.

    The server is of the first of them, whose side they tell of.
    """
    name = _NODE.get(hops[0], "hop")
    rows = ensure(observed, ["received_at", name]).filter(pl.col("hop").is_in(hops))
    minute = pl.col("received_at") // MINUTE * MINUTE
    wrote = rows.select(server=server(name), begin=minute, end=minute + MINUTE)
    return wrote.drop_nulls("begin").unique()


def batches(worked: pl.DataFrame, hop: str) -> pl.DataFrame:
    """Return the same of each hour in which a server of a hop ran batches."""
    ran = worked.filter(pl.col("hop") == hop)
    return ran.select(server=server("node"), begin="hour", end=pl.col("hour") + HOUR).unique()


def started(epochs: pl.DataFrame, hop: str) -> pl.Series:
    """Return the servers of a hop of which a log tells that they were started.

    What was declared of all nodes of a pattern is of no server that there must be.
    """
    one = (pl.col("role") == hop) & ~pl.col("node").str.contains(r"[*?\[]")
    return epochs.filter(one).select(server("node")).to_series().drop_nulls().unique()


def _steady(wrote: pl.DataFrame) -> pl.DataFrame:
    """Return the servers whose records say minute by minute whether they were there.

    Batches are counted by the hour: one line would stand for an hour of which most is lost.
    """
    hours = wrote.group_by("server", pl.col("begin") // HOUR).len()
    return hours.group_by("server").agg(pl.col("len").median()).filter(pl.col("len") >= STEADY)


def server(node: str) -> pl.Expr:
    """Return what stands before the rank in the names of a column."""
    return pl.col(node).str.replace(r"/[^/]*$", "")


def _stretches(wrote: pl.DataFrame, due: pl.Series) -> pl.DataFrame:
    """Return what lies before, between and after the lines of each server, long enough to count."""
    until = pl.col("end").cum_max()
    every = wrote.sort("server", "begin", "end", nulls_last=True).select(
        "server", "begin", until=until.over("server")
    )
    after = pl.col("begin").shift(-1).over("server")
    last = pl.lit(due.max(), dtype=pl.Int64)
    gaps = every.select(begin="until", end=pl.coalesce(after, last))
    first = every.group_by("server").agg(end=pl.col("begin").min())
    begin = pl.lit(due.min(), dtype=pl.Int64)
    gaps = pl.concat([gaps, first.select(begin=begin, end="end")])
    long = gaps.filter(pl.col("end") - pl.col("begin") >= LONG)
    both = pl.concat([long, _no_chance(wrote)])
    return both.select(pl.col("begin") - MARGIN, pl.col("end") + MARGIN)


def _no_chance(wrote: pl.DataFrame) -> pl.DataFrame:
    """Return silences of servers that log by the minute which their traffic makes no chance."""
    minutes = wrote.filter(pl.col("end") - pl.col("begin") == MINUTE)
    found = [
        (begin * MINUTE, end * MINUTE)
        for own in minutes.partition_by("server")
        for begin, end in pauses.silences(np.unique(own["begin"].to_numpy()) // MINUTE)
    ]
    return pl.DataFrame(found, schema=dict.fromkeys(("begin", "end"), pl.Int64), orient="row")
