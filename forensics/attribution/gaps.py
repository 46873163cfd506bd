"""What is missing of a rank since its start, and who else may have run there for it."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from forensics.activity import HOUR
from forensics.attribution.coresidency import as_pairs, residence
from forensics.attribution.stays import Stay
from forensics.capacity import server_of
from forensics.coverage import Coverage
from forensics.schema import AFFECTED_TIERS
from forensics.sources.reading import FileFacts


@dataclass(frozen=True)
class Lost:
    """Hours of decode ranks without records; ranks with unreadable lines; times of requests astray.

    ``hours`` has ``node`` and ``hour``. ``astray`` are the moments of answered requests that
    name no decode rank, sorted. ``sampled`` says that only some requests were logged.
    """

    hours: pl.DataFrame
    unread: frozenset[str]
    astray: pl.Series
    sampled: bool

    def hours_of(self, stay: Stay) -> pl.Series:
        """Return the missing hours of a rank between its start and its last read."""
        own = self.hours.filter(pl.col("node").is_in([stay.node, server_of(stay.node)]))
        inside = own.filter(pl.col("hour").is_between(stay.since - HOUR, stay.last_read))
        return inside["hour"]

    def concerns(self, stay: Stay) -> bool:
        """Say whether records of a rank are missing since its start."""
        strays = self.astray.is_between(stay.since, stay.last_read)
        unread = {stay.node, server_of(stay.node)} & self.unread
        return bool(self.sampled or unread or strays.any() or len(self.hours_of(stay)))


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
    missing = pl.col("gap") | pl.col("unlogged")
    hours = coverage.hours.filter((pl.col("hop") == "decode") & missing).select("node", "hour")
    bad = [facts.number for facts in files if facts.unread]
    unread: set[str] = set()
    if bad and "decode_node" in observed.columns:
        unread = set(observed.filter(pl.col("file").is_in(bad))["decode_node"].drop_nulls())
    ran = residence(requests).filter(pl.col("node").is_null() & pl.col("may_have_run"))
    return Lost(
        hours, frozenset(unread), ran["began"].drop_nulls().sort(), sampled=sampling_rate < 1
    )


def widened(
    requests: pl.DataFrame, pairs: pl.DataFrame, stays: list[Stay], missing: Lost
) -> pl.DataFrame:
    """Return pairs with tenants that may have run in the missing hours: ``not_assessable``.

    Everyone who is known from any log may have, whose pair is not there for another reason.
    """
    gone = [stay for stay in stays if len(missing.hours_of(stay))]
    empty = pairs.clear()
    if not gone:
        return empty
    keys = pl.DataFrame(
        [(stay.node, stay.since, int(missing.hours_of(stay).min())) for stay in gone],  # type: ignore[arg-type]
        {"node": pl.String, "since": pl.Int64, "lost": pl.Int64},
        orient="row",
    )
    read = (
        residence(requests).filter(pl.col("tier").is_in(AFFECTED_TIERS)).rename({"began": "read"})
    )
    read = read.join(keys, on=["node", "since"]).filter(pl.col("read") >= pl.col("lost"))
    tenants = requests.select(source_tenant_id="tenant_id").drop_nulls().unique()
    every = read.join(tenants, how="cross").with_columns(last_at=pl.col("lost"))
    rows = as_pairs(every, "decode").with_columns(tier=pl.lit("not_assessable"))
    key = ["request_id", "attempt", "source_tenant_id"]
    return rows.join(pairs, on=key, how="anti", nulls_equal=True).select(empty.columns)
