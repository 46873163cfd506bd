"""Whether anything can have run on a rank before a moment, of which a log would tell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from forensics.attribution.anywhere import START_OFF
from forensics.attribution.holds import Ints
from forensics.attribution.ranks import beside
from forensics.attribution.silences import LOADING, SHORTEST
from forensics.boots import BEGINNING

ENOUGH = 5
"""Requests in as much time after a stretch without any that make it no chance that it is empty."""


@dataclass(frozen=True)
class Earliest:
    """When the ``first`` request may have run on a rank, and when all ``came``, sorted."""

    first: int | None
    came: Ints

    def nothing_before(self, at: int) -> bool:
        """Say whether nothing can have run on the rank before, of which a log would tell."""
        if self.first is not None and at > self.first + START_OFF:
            return False
        if not len(self.came) or self.came[0] < at - START_OFF:
            return True
        apart = int(self.came[0]) - at
        soon = np.searchsorted(self.came, self.came[0] + apart, side="right")
        return apart >= LOADING or (apart >= SHORTEST and int(soon) >= ENOUGH)


def by_rank(ran: pl.DataFrame) -> dict[str, int]:
    """Return when the first request began that may have run on each rank, by its name.

    One of which no log names the rank may have run on any, unless it was refused at the door.
    """
    nowhere = ran.filter(pl.col("node").is_null() & pl.col("may_have_run"))["began"]
    rows = beside(ran["node"]).join(ran.select("node", "began"), on="node")
    first = rows.group_by("rank").agg(
        pl.min_horizontal(pl.col("began").min(), pl.lit(nowhere.min(), dtype=pl.Int64))
    )
    return dict(first.drop_nulls().iter_rows())


def moments(ran: pl.DataFrame) -> Ints:
    """Return when requests began of which that is known, sorted."""
    came = np.sort(ran["began"].drop_nulls().to_numpy())
    return came[came > BEGINNING]
