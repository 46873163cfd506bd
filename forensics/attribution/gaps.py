"""What is missing of a rank since its start, and who else may have run there for it."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from forensics.activity import HOUR
from forensics.attribution import pairing, together
from forensics.attribution.coresidency import residence
from forensics.attribution.pairing import PAIR_COLUMNS
from forensics.attribution.ranks import alike, unranked
from forensics.attribution.silences import Silences
from forensics.attribution.stays import Stay
from forensics.boots import BEGINNING
from forensics.capacity import server_of
from forensics.coverage import Coverage, lacking
from forensics.requests import JOINED
from forensics.schema import AFFECTED_TIERS, ENGINE_HOP
from forensics.sources.reading import FileFacts


@dataclass(frozen=True)
class Lost:
    """What is missing of the decode side: records of hours, of files, of ranks, of everybody.

    ``hours`` has ``node`` (null: of any) and ``hour`` without records, or with far too few;
    ``unread`` are ranks with unreadable lines. ``astray`` has ``first`` and ``last``, between which
    requests ran that name no decode rank, or only its ``server``. ``sampled`` says that only some
    requests were logged. ``silences`` are stretches without a record of anybody.
    """

    hours: pl.DataFrame
    unread: frozenset[str]
    astray: pl.DataFrame
    sampled: bool
    silences: Silences

    def since(self, stay: Stay) -> int | None:
        """Return from when on records are missing between a rank's start and its last read.

        A line that cannot be read, and a request that was not logged, may be of any moment.
        """
        if self.sampled or any(alike(node, stay.node) for node in self.unread):
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
        observed: records, with the file that each is from.
        coverage: hours of each node.
        files: how many of their lines could not be read.
        sampling_rate: share of requests that was logged.
    """
    bad = [facts.number for facts in files if facts.unread]
    unread: set[str] = set()
    if bad and "decode_node" in observed.columns:
        unread = set(observed.filter(pl.col("file").is_in(bad))["decode_node"].drop_nulls())
    alone = pl.col("node").is_in(unranked(requests["decode_node"]))
    nowhere = pl.col("node").is_null() | alone
    ran = residence(requests).filter(nowhere & pl.col("may_have_run"))
    return Lost(
        _hours(requests, coverage, everywhere=bool(ran["node"].null_count())),
        frozenset(unread),
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
    return pl.concat([told, lacking(placed).select("node", "hour")]).unique()


def widened(
    requests: pl.DataFrame, pairs: pl.DataFrame, stays: list[Stay], missing: Lost
) -> pl.DataFrame:
    """Return pairs with tenants that may have run in the missing times: ``not_assessable``.

    Everyone who is known from any log may have, whose pair is not there for another reason. They
    are made for some responses at a time: everyone for each is too many to be held more than once.

    Args:
        requests: judged requests.
        pairs: those that are there already, in order of ``request_id``.
        stays: ranks with affected responses.
        missing: of the decode side.
    """
    read = _reading_past_a_loss(requests, stays, missing)
    tenants = requests.select(source_tenant_id="tenant_id").drop_nulls().unique()
    tenants = tenants.sort("source_tenant_id")
    parts = pairing.batches(read, tenants.height)
    there = together.beside(pairs, parts)
    found = [_others(*both, tenants) for both in zip(parts, there, strict=True)]
    return pl.concat([pairs.clear().select(*PAIR_COLUMNS, "attempt"), *found])


def _others(read: pl.DataFrame, pairs: pl.DataFrame, tenants: pl.DataFrame) -> pl.DataFrame:
    """Return some responses with each tenant that is not among their pairs."""
    key = ["request_id", "attempt", "source_tenant_id"]
    every = read.select("request_id", "attempt", "tenant_id").join(tenants, how="cross")
    rows = every.join(pairs.select(key), on=key, how="anti", nulls_equal=True)
    return pairing.sort(pairing.as_pairs(rows, "decode", "not_assessable"))


def _reading_past_a_loss(requests: pl.DataFrame, stays: list[Stay], missing: Lost) -> pl.DataFrame:
    """Return the affected responses between whose rank's start and whose read records are lost."""
    since: list[tuple[str | None, int, int | None]]
    since = [(stay.node, stay.since, missing.since(stay)) for stay in stays]
    since.append((None, BEGINNING, missing.anywhere()))
    kinds = {"node": pl.String, "since": pl.Int64, "lost": pl.Int64}
    keys = pl.DataFrame(since, kinds, orient="row").drop_nulls("lost")
    read = residence(requests).filter(pl.col("tier").is_in(AFFECTED_TIERS))
    read = read.join(keys, on=["node", "since"], nulls_equal=True)
    return read.filter(pl.col("last") >= pl.col("lost"))
