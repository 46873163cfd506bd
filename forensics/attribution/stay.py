"""A stay: one decode rank from a start to the next, as the logs tell of it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl

from forensics.attribution.holds import Holds, Ints
from forensics.schema import AFFECTED_TIERS


@dataclass
class Stay:
    """One rank from a start to the next: what the logs say of it, and why it is not replayed.

    ``rows`` are its requests, from :meth:`let_go` on by their numbers alone, ``holds`` what they
    held, ``readers`` which of these read pages that they had not written. ``stated`` names what the
    incident alone tells of engine and pool, ``unchecked`` what keeps the engine's own figures from
    confirming a replay. ``kept`` are the rows of affected responses once they were asked for: a
    field, so that a copy of a stay that let the others go has them too.
    """

    node: str
    since: int
    rows: pl.DataFrame
    pool_pages: int = 0
    page_tokens: int = 0
    allocator: str | None = None
    reasons: set[str] = field(default_factory=set)
    unchecked: set[str] = field(default_factory=set)
    holds: Holds | None = None
    hours: int = 0
    hours_fitting: int = 0
    replays: int = 0
    stated: tuple[str, ...] = ()
    kept: pl.DataFrame | None = None

    @property
    def affected(self) -> pl.DataFrame:
        """Its rows of affected responses."""
        if self.kept is None:
            self.kept = self.rows.filter(pl.col("tier").is_in(AFFECTED_TIERS))
        return self.kept

    @property
    def capped(self) -> bool:
        """Whether whom a replay names is possible at most: the figures there are do not confirm it.

        Where the logs have none at all, nothing denies it either, and the report says so.
        """
        return bool(self.unchecked - {"no_figures", "stated"})

    def let_go(self) -> None:
        """Keep of requests their number and that of the first attempt: they are one source.

        Those of affected responses are kept whole.
        """
        _ = self.affected  # kept from here on
        first = pl.col("_row").min().over("request_id", "tenant_id")
        self.rows = self.rows.select("_row", first=first)

    @property
    def readers(self) -> Ints:
        """Numbers of the holds of affected responses."""
        if self.holds is None:
            return np.zeros(0, dtype=np.int64)
        return np.flatnonzero(np.isin(self.holds.row, self.affected["_row"].to_numpy()))

    @property
    def responses(self) -> int:
        """Affected responses of the rank."""
        return self.affected.height

    @property
    def last_read(self) -> int:
        """When the last affected response took its pages, at the latest."""
        return int(self.affected["last"].max())  # type: ignore[arg-type]


def responses(stays: list[Stay]) -> int:
    """Return the affected responses of some ranks: one that may be of several counts once."""
    every = [stay.affected["_row"] for stay in stays]
    return pl.concat(every).n_unique() if every else 0
