"""What is missing of a rank since its start: hours, lines, the ranks of requests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from forensics import strangelogs
from forensics.activity import HOUR
from forensics.attribution.coresidency import residence
from forensics.attribution.ranks import alike, unranked
from forensics.attribution.silences import Silences
from forensics.attribution.stay import Stay
from forensics.believed import JOINED
from forensics.boots import BEGINNING
from forensics.capacity import server_of
from forensics.columns import ensure
from forensics.coverage import Coverage, lacking
from forensics.schema import ENGINE_HOP
from forensics.sources.reading import FileFacts

READ = ("file", "hop", "prefill_node", "decode_node")
"""What is read of records; each once is enough."""


@dataclass(frozen=True)
class Lost:
    """What is missing of the decode side: records of hours, of files, of ranks, of everybody.

    ``hours`` has ``node`` (null: of any) and ``hour`` without records, or with far too few;
    ``unread`` are ranks with unreadable lines (None: any). ``astray`` has ``first`` and ``last``,
    between which requests ran that name no decode rank, or only its ``server``. ``sampled`` says
    that only some requests were logged. ``silences`` are stretches without a record of anybody.
    """

    hours: pl.DataFrame
    unread: frozenset[str | None]
    astray: pl.DataFrame
    sampled: bool
    silences: Silences

    def since(self, stay: Stay) -> int | None:
        """Return from when on records are missing between a rank's start and its last read.

        A line that cannot be read, and a request that was not logged, may be of any moment.
        """
        if self.sampled or any(node is None or alike(node, stay.node) for node in self.unread):
            return stay.since
        inside = self.hours
        if inside.height:
            named = inside["node"].drop_nulls().unique()
            same = [node for node in named if alike(node, stay.node)]
            own = pl.col("node").is_null() | pl.col("node").is_in(same)
            span = pl.col("hour").is_between(stay.since - HOUR, stay.last_read)
            inside = inside.filter(own & span)
        silent = [begin for begin, _ in self.silences.between(stay.since, stay.last_read)]
        return min([*inside["hour"].to_list(), *silent], default=None)

    def anywhere(self) -> int | None:
        """Return from when on records of any rank are missing; see :meth:`since`."""
        if self.sampled or self.unread:
            return BEGINNING
        spans = [begin for begin, _ in self.silences.spans]
        return min([*self.hours["hour"].to_list(), *spans], default=None)

    def concerns(self, stay: Stay) -> bool:
        """Say whether records of a rank are missing since its start."""
        here = (pl.col("last") >= stay.since) & (pl.col("first") <= stay.last_read)
        here &= pl.col("server").is_null() | (pl.col("server") == server_of(stay.node))
        strays = bool(self.astray.select(here.any()).item())
        return strays or self.since(stay) is not None


def lost(
    requests: pl.DataFrame,
    observed: pl.DataFrame,
    coverage: Coverage,
    files: list[FileFacts],
    sampling_rate: float,
) -> Lost:
    """Return what is missing of the decode side.

    Args:
        requests: judged requests.
        observed: :data:`READ` of records.
        coverage: hours of each node.
        files: how many of their lines could not be read.
        sampling_rate: share of requests that was logged.
    """
    every = residence(requests)
    nowhere = pl.col("node").is_null() | pl.col("node").is_in(unranked(every["node"]))
    ran = every.filter(nowhere & pl.col("may_have_run"))
    everywhere = bool(ran["node"].null_count())
    return Lost(
        _hours(requests, coverage, everywhere=everywhere),
        frozenset(_unread(observed, files, everywhere=everywhere)),
        ran.select("first", "last", server="node"),
        sampled=sampling_rate < 1,
        silences=Silences.of(requests["received_at"]),
    )


def _hours(requests: pl.DataFrame, coverage: Coverage, *, everywhere: bool) -> pl.DataFrame:
    """Return ``node`` and ``hour`` in which records of the decode side are missing.

    Of a rank by decode's own records, and by those of any hop that name it; of a joined record's
    log, which is no node's, for all ranks: ``node`` is null. So it is of a client's log where it
    is known that decode's do not tell of every request (``everywhere``).
    """
    missing = pl.col("gap") | pl.col("unlogged") | pl.col("thin")
    hops = ["decode", JOINED, ENGINE_HOP, *(["gateway"] if everywhere else [])]
    told = coverage.hours.filter(pl.col("hop").is_in(hops) & missing).select("node", "hour")
    at = pl.coalesce("handed_off_at", "received_at")
    placed = requests.select(node="decode_node", hop=pl.lit("decode"), at=at).drop_nulls()
    return pl.concat([told, lacking(placed, coverage.away).select("node", "hour")]).unique()


def _unread(
    observed: pl.DataFrame, files: list[FileFacts], *, everywhere: bool
) -> Iterator[str | None]:
    """Yield the ranks that lines which cannot be read may be of; None stands for any.

    A file that names ranks is of these. Of one that names none it may be any, but for prefill's
    log, and for a client's where decode's are not known to lack a request. One of which nothing
    was read has its name alone.
    """
    held = [facts for facts in files if strangelogs.held_something(facts)]
    yield from strangelogs.ranks((one for one in held if not one.kept), observed, "decode")
    bad = [facts.number for facts in held if facts.kept]
    rows = ensure(observed, ["decode_node"]).filter(pl.col("file").is_in(bad))
    yield from rows["decode_node"].drop_nulls().unique().sort()
    apart = ["prefill"] if everywhere else ["prefill", "gateway"]
    told = pl.col("decode_node").is_not_null() | pl.col("hop").is_in(apart)
    if set(bad) - set(rows.filter(told)["file"]):
        yield None
