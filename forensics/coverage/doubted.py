"""When the limit of a rank of prefill is not known: in silences with losses, and after them.

Ranks count one by one, in whatever files their lines are: that one writes on does not show that
another did not start.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import polars as pl

from forensics.activity import HOUR
from forensics.believed import JOINED
from forensics.boots import BEGINNING, END
from forensics.capacity import Capacity, server_of
from forensics.columns import ensure
from forensics.coverage.alive import LONG, MARGIN, MINUTE, server

START = 2 * MINUTE
"""The shortest silence (µs) in which a server that served before may serve again from a start."""
SPANS: dict[str, pl.DataType] = {
    "prefill_node": pl.String(),
    "begin": pl.Int64(),
    "until": pl.Int64(),
    "silent": pl.Boolean(),
}
"""Rank, from when until when (µs), and whether it was silent: what it wrote shows the rest."""


@dataclass(frozen=True)
class Losses:
    """What is missing of the logs.

    Attributes:
        lost: requests that other hops prove, of :class:`forensics.coverage.holes.Holes`.
        missing: stretches, of :func:`forensics.coverage.quiet.missing`.
        unread: lines that could not be read, of :func:`forensics.coverage.unread.unread`.
    """

    lost: pl.DataFrame
    missing: pl.DataFrame
    unread: pl.DataFrame

    def none(self) -> Losses:
        """Return the same without any."""
        return Losses(self.lost.clear(), self.missing.clear(), self.unread.clear())


READ = ("hop", "received_at", "prefill_node")
"""What is read of records."""


@dataclass(frozen=True)
class Logged:
    """What is known of the logs of prefill; times in microseconds.

    Attributes:
        capacity: epochs, when pools were told, and what the incident alone states.
        losses: what was lost: ``node`` where that is told, ``begin`` and ``end``, and ``least``,
            the shortest silence of a server in which it may have been.
        wrote: ``node``, ``begin`` and ``end`` of the minutes in which each rank logged requests.
        ran: the same of the hours in which a rank that logs none ran batches.
        own: ``handoff`` and ``own``: when the server's log has each request; none without losses.
    """

    capacity: Capacity
    losses: pl.DataFrame
    wrote: pl.DataFrame
    ran: pl.DataFrame
    own: pl.DataFrame

    def moved(self, by: int) -> Logged:
        """Return it with the times of all requests later by so much: starts stay where they are."""
        ends = pl.col("begin", "end") + by
        return replace(
            self,
            losses=self.losses.with_columns(ends),
            wrote=self.wrote.with_columns(ends),
            own=self.own.with_columns(pl.col("own") + by),
        )


def logged(
    capacity: Capacity,
    losses: Losses,
    observed: pl.DataFrame,
    worked: pl.DataFrame,
) -> Logged:
    """Return what is known of the logs of prefill.

    Args:
        capacity: as :class:`Logged` has it.
        losses: what is missing of the logs of all hops.
        observed: records, with what is there of :data:`READ`.
        worked: of :func:`forensics.activity.hourly`.
    """
    of_prefill = _of_prefill(losses, _told(capacity))
    observed = ensure(observed if of_prefill.height else observed.clear(), ["prefill_node"])
    rows = observed.filter(pl.col("hop").is_in(["prefill", JOINED]))
    minute = pl.col("received_at") // MINUTE * MINUTE
    wrote = rows.select(node="prefill_node", begin=minute, end=minute + MINUTE)
    wrote = wrote.with_columns(pl.col("node").fill_null(_only(capacity, observed["prefill_node"])))
    wrote = wrote.drop_nulls().unique()
    ran = worked.filter(pl.col("hop") == "prefill").drop_nulls("node")
    ran = ran.select("node", begin="hour", end=pl.col("hour") + HOUR)
    ran = ran.join(wrote, on="node", how="anti")
    own = rows.group_by("handoff").agg(own=pl.col("received_at").min())
    return Logged(capacity, of_prefill, wrote, ran, own)


def _only(capacity: Capacity, named: pl.Series) -> pl.Expr:
    """Return the rank whose lines those are that name none, where no hop or start tells another."""
    ranks = {*named.drop_nulls().unique(), *_told(capacity)["node"]}
    return pl.lit(ranks.pop() if len(ranks) == 1 else None, dtype=pl.String)


def _of_prefill(losses: Losses, told: pl.DataFrame) -> pl.DataFrame:
    """Return the losses of :class:`Logged`.

    Where it is not sure whose a request or a log is, nothing but the silence of an hour tells that
    it was lost. In a stretch that is missing as a whole no hop proves any.
    """
    least = pl.when("sure").then(START).otherwise(LONG)
    lost = losses.lost.filter(pl.col("hop") == "prefill")
    proved = lost.select(
        "node", begin=pl.col("at") - MARGIN, end=pl.col("at") + MARGIN, least=least
    )
    begin, end = pl.col("begin") + 1, pl.col("end") - 1
    some = losses.missing.filter(pl.col("hop").is_null() | (pl.col("hop") == "prefill"))
    whole = _untold(some, told).select("node", begin=begin, end=end, least=pl.lit(START))
    unread = losses.unread.select("node", begin=begin, end=end, least=least)
    return pl.concat([proved, whole, unread], how="vertical_relaxed")


def _untold(missing: pl.DataFrame, told: pl.DataFrame) -> pl.DataFrame:
    """Return what is missing but the silences of ranks at whose end a log tells their start.

    A server that starts took no requests before.
    """
    rows = missing.with_row_index("_row")
    near = rows.join_where(
        told.select(_server=server("node"), _at="at"),
        pl.col("begin") <= pl.col("_at"),
        pl.col("end") + MARGIN >= pl.col("_at"),
    ).filter(server("node") == pl.col("_server"))
    return rows.join(near, on="_row", how="anti").drop("_row")


def spans(logged: Logged) -> pl.DataFrame:
    """Return :data:`SPANS`, none of a rank within another of it."""
    found = list(_spans(logged)) if logged.losses.height else []
    return pl.DataFrame(found, schema=SPANS, orient="row")


def _spans(logged: Logged) -> Iterator[tuple[str, int, int, bool]]:
    told, cells = _told(logged.capacity), pl.concat([logged.wrote, logged.ran])
    for node in writers(logged):
        lost = logged.losses.filter(_of(node) | pl.col("node").is_null())
        moments = told.filter(_of(node))["at"].unique().sort()
        own = cells.filter(pl.col("node") == node).select("begin", "end")
        own = pl.concat([own, moments.to_frame("begin").with_columns(end=pl.col("begin") + 1)])
        holes = _holes(own.sort("begin", "end"), lost)
        yield from ((node, *span) for span in _after(holes, moments.to_list()))


def _of(node: str) -> pl.Expr:
    """Say what is of a rank: under its own name, or that of its server; or the other way round."""
    whole = server_of(node)
    return server("node") == node if node == whole else pl.col("node").is_in([node, whole])


def writers(logged: Logged) -> list[str]:
    """Return the ranks with lines of their own, and servers of which a log tells a start alone."""
    wrote = {*logged.wrote["node"], *logged.ran["node"]}
    servers = {server_of(node) for node in wrote}
    told = {node for node in _told(logged.capacity)["node"] if server_of(node) not in servers}
    return sorted(wrote | told)


def _told(capacity: Capacity) -> pl.DataFrame:
    """Return when logs told a pool or a start of a rank of prefill, or of its server."""
    epochs = capacity.epochs.filter(
        (pl.col("role").is_null() | (pl.col("role") == "prefill"))
        & (pl.col("effective_at") != BEGINNING)
    )
    every = pl.concat([epochs.select("node", at="effective_at"), capacity.told])
    return every.drop_nulls().unique()


def _holes(cells: pl.DataFrame, lost: pl.DataFrame) -> list[tuple[int, int]]:
    """Return the silences of a rank in which a start has room and a record is missing."""
    begin = np.append(cells["begin"].to_numpy(), END)
    end = np.append(BEGINNING, np.maximum.accumulate(cells["end"].to_numpy()))
    found = np.zeros(len(begin), dtype=bool)
    for (least,), some in lost.group_by("least"):
        # Those that began by its end, without those that were over when it began.
        begun = np.searchsorted(some["begin"].sort().to_numpy(), begin, side="right")
        over = np.searchsorted(some["end"].sort().to_numpy(), end, side="left")
        found |= (begin - end >= least) & (begun > over)
    return list(zip(end[found].tolist(), begin[found].tolist(), strict=True))


def _after(holes: list[tuple[int, int]], told: list[int]) -> Iterator[tuple[int, int, bool]]:
    """Yield each silence, and what follows until a pool is told or the next one begins."""
    moments = np.array([*told, END])
    for (begin, end), (following, _) in pairwise([*holes, (END, END)]):
        until = min(int(moments[np.searchsorted(moments, end)]), following)
        yield begin, end, True
        if until > end:
            yield end, until, False
