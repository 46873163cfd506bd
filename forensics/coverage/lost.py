"""Node hours that are missing, and whether they are all that is known to be lost."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from forensics.activity import HOUR
from forensics.coverage.holes import LACKS, Holes
from forensics.coverage.hours import AT, Coverage
from forensics.coverage.quiet import quiet
from forensics.skew import GATEWAY


@dataclass(frozen=True)
class LostHours:
    """Node hours that are ``missing`` of the hop that lacks the most, of how many ``hours``.

    ``alone`` says that nothing else is known to be lost: no other hop lacks an hour, and records
    that other hops prove are of those hours. A share of hours says nothing of a count otherwise:
    a response shows as affected where every hop's record is there.
    """

    missing: int
    hours: int
    hop: str
    alone: bool


def lost_hours(coverage: Coverage, holes: Holes) -> LostHours:
    """Return how many node hours are missing: without records that were due, or with too few."""
    gone = coverage.hours.filter(pl.col("gap") | pl.col("unlogged") | pl.col("thin"))
    missing = gone.group_by("hop").len("missing")
    hours = coverage.nodes.group_by("hop").agg(pl.col("hours").sum())
    rows = hours.join(missing, on="hop", nulls_equal=True)
    if not rows.height:
        return LostHours(0, 0, "", alone=False)
    worst = rows.sort(
        pl.col("missing") / pl.col("hours"), "hop", descending=True, nulls_last=True
    ).row(0, named=True)
    alone = rows.height == 1 and not quiet(coverage).missing and not _beyond(gone, holes)
    return LostHours(worst["missing"], worst["hours"], worst["hop"] or "joined", alone)


def _beyond(gone: pl.DataFrame, holes: Holes) -> int:
    """Return how many lost records of others' requests lie in no missing hour, nor beside one.

    Of a request at the end of an hour a neighbour's record is of the next one.
    """
    untold = holes.untold.filter(pl.col("hop") != GATEWAY)
    proved = pl.concat(rows.select(*LACKS) for rows in (holes.lacking, untold))
    near = pl.concat(gone.select("node", "hop", pl.col("hour") + n * HOUR) for n in (-1, 0, 1))
    return proved.join(near, on=AT, how="anti", nulls_equal=True).height
