"""When a source wrote nothing, though its traffic makes that no chance.

A source is a node's log of a hop, all logs of a hop, or all logs: where each node logs too little
to tell, all of them together may tell. How it is told stands in :mod:`forensics.coverage.pauses`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from forensics.activity import HOUR
from forensics.coverage.alive import MINUTE
from forensics.coverage.pauses import Minutes, silences

STILL: dict[str, pl.DataType] = {
    "node": pl.String(),
    "hop": pl.String(),
    "begin": pl.Int64(),
    "end": pl.Int64(),
    "of": pl.String(),
}
"""Source and stretch (µs): ``of`` a ``node``, of all logs of a ``hop``, or of ``all``."""
WROTE: dict[str, pl.DataType] = {
    "node": pl.String(),
    "hop": pl.String(),
    "minute": pl.Int64(),
}
"""Minutes (µs, their begin) with a record of a source, each once."""
Span = tuple[int, int]


def wrote(rows: pl.DataFrame) -> pl.DataFrame:
    """Return :data:`WROTE` of records with ``node``, ``hop`` and ``at`` (µs), none of it null."""
    minute = pl.col("at") // MINUTE * MINUTE
    return rows.select("node", "hop", minute=minute).unique().select(*WROTE)


def throughout(counted: pl.DataFrame) -> pl.DataFrame:
    """Return :data:`WROTE` of records that were counted by the hour, as if of each minute.

    Args:
        counted: with ``node``, ``hop``, ``first_at`` and ``last_at`` (µs) of each hour.
    """
    first, last = (pl.col(name) // MINUTE * MINUTE for name in ("first_at", "last_at"))
    minute = pl.int_ranges(first, last + MINUTE, MINUTE, dtype=pl.Int64)
    rows = counted.drop_nulls("first_at").select("node", "hop", minute=minute)
    return rows.explode("minute").select(*WROTE)


LOADING = 30
"""Minutes before and after a start in which a rank need not have taken requests."""


@dataclass(frozen=True)
class Away:
    """When nothing, or one rank, need not have written.

    Attributes:
        off: from when until when (µs) the incident says that the model was out of service.
        starts: moments (µs) at which ranks are known to have started.
    """

    off: Span | None = None
    starts: Mapping[str, Sequence[int]] = field(default_factory=dict)

    def minutes(self, node: str | None = None) -> Minutes:
        """Return the minutes of it, of a node or of all together; they may stand there twice."""
        moments = self.starts.get(node, ()) if node else ()
        spans = [(at - LOADING * MINUTE, at + LOADING * MINUTE) for at in moments]
        every = [_minutes(*span) for span in (*spans, *([self.off] if self.off else []))]
        return np.concatenate([np.array([], np.int64), *every])


def _minutes(begin: int, end: int) -> Minutes:
    return np.arange(begin // MINUTE, -(-end // MINUTE))


NOWHERE = Away()


def still(wrote: pl.DataFrame, away: Away = NOWHERE) -> pl.DataFrame:
    """Return :data:`STILL`, sorted: what each source, each hop and all together did not write.

    Args:
        wrote: :data:`WROTE`; a minute may stand there twice.
        away: when it is as if a source had written.
    """
    found: list[tuple[str | None, str | None, int, int, str]] = []
    hops, every = wrote.partition_by("hop"), away.minutes()
    for of_hop in hops:
        hop, nodes = of_hop["hop"][0], of_hop.partition_by("node")
        for own in nodes:
            node = own["node"][0]
            spans = _spans(own["minute"], away.minutes(node))
            found += [(node, hop, *span, "node") for span in spans]
        if len(nodes) > 1:
            found += [(None, hop, *span, "hop") for span in _spans(of_hop["minute"], every)]
    if len(hops) > 1:
        found += [(None, None, *span, "all") for span in _spans(wrote["minute"], every)]
    return pl.DataFrame(found, schema=STILL, orient="row").sort(*STILL, nulls_last=False)


def by_hour(still: pl.DataFrame) -> pl.DataFrame:
    """Return the hours that stretches of nodes touch, with ``still``: how much of each (µs)."""
    first = pl.col("begin") // HOUR * HOUR
    hours = still.filter(pl.col("of") == "node").with_columns(
        hour=pl.int_ranges(first, "end", HOUR, dtype=pl.Int64)
    )
    rows = hours.explode("hour")
    ends = pl.min_horizontal("end", pl.col("hour") + HOUR)
    own = ends - pl.max_horizontal("begin", "hour")
    return rows.group_by("node", "hop", "hour").agg(still=own.sum())


def _spans(begins: pl.Series, told: Minutes) -> Iterator[Span]:
    """Yield begin and end (µs) of each stretch of one source, where no minute was told of."""
    minutes = np.unique(begins.to_numpy()) // MINUTE
    inside = told[(told >= minutes[0]) & (told <= minutes[-1])]
    for begin, end in silences(np.union1d(minutes, inside)):
        yield begin * MINUTE, end * MINUTE
