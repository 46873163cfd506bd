"""Whether anything can have run on a rank before a moment, of which a log would tell.

That logs begin with a record shows nothing: it may be of a running engine, and what ran before was
not kept. Something older has to be in them; or a warm-up, which only an engine that starts writes;
or nobody's request came for longer than an engine loads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from forensics.attribution.anywhere import START_OFF
from forensics.attribution.holds import Ints
from forensics.attribution.ranks import beside
from forensics.attribution.silences import LOADING
from forensics.boots import BEGINNING
from forensics.columns import ensure
from forensics.probes import HEALTH_CHECK


@dataclass(frozen=True)
class Earliest:
    """When the ``first`` request may have run on a rank, and when all ``came``, sorted.

    ``warmed`` are its warm-ups; ``together`` moments of which several servers have a record.
    """

    first: int | None
    came: Ints
    warmed: Ints
    together: frozenset[int]

    def nothing_before(self, at: int) -> bool:
        """Say whether nothing can have run on the rank before, of which a log would tell."""
        if self.first is not None and at > self.first + START_OFF:
            return False
        if not len(self.came) or self.came[0] < at - START_OFF:
            return True
        if self._warmed(at, at + LOADING if self.first is None else self.first):
            return True
        return int(self.came[0]) >= at + LOADING and at not in self.together

    def warmed_up(self, at: int) -> bool:
        """Say whether the rank was warmed up as an engine is that began then."""
        return self._warmed(at, at + LOADING)

    def _warmed(self, at: int, until: int) -> bool:
        inside = (self.warmed >= at) & (self.warmed <= min(until, at + LOADING))
        return bool(inside.any())


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


def together(epochs: pl.DataFrame) -> frozenset[int]:
    """Return the moments of which several servers have a record: somebody asked them all then.

    Servers do not start in one and the same moment, to the last digit of it.
    """
    server = pl.col("node").str.replace(r"/[^/]*$", "")
    number = epochs.group_by("effective_at").agg(server.n_unique().alias("servers"))
    return frozenset(number.filter(pl.col("servers") > 1)["effective_at"].to_list())


def moments(ran: pl.DataFrame) -> Ints:
    """Return when requests began of which that is known, sorted."""
    came = np.sort(ran["began"].drop_nulls().to_numpy())
    return came[came > BEGINNING]


def warm_ups(probed: pl.DataFrame, side: str) -> dict[str, Ints]:
    """Return when each rank of one side was warmed up, by its name; a server's are its ranks'.

    Args:
        probed: records of health checks and warm-ups.
        side: ``decode`` or ``prefill``.
    """
    rows = ensure(probed, [f"{side}_node", "request_id", "received_at"])
    check = pl.col("request_id").str.starts_with(HEALTH_CHECK).fill_null(value=False)
    rows = rows.filter(~check).select(node=f"{side}_node", at="received_at").drop_nulls()
    every = beside(rows["node"]).join(rows, on="node").group_by("rank").agg("at")
    return {rank: np.sort(np.array(at, dtype=np.int64)) for rank, at in every.iter_rows()}
