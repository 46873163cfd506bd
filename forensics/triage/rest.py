"""The rows that were counted where they lie, as far as the analysis of the others asks of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from forensics.believed import JOINED
from forensics.coverage.hours import COUNTED
from forensics.timing.stage import ADDED, NO_TIMES, Timing
from forensics.triage.scored import attach
from forensics.triage.shards import Left, Shard, fetch
from forensics.triage.times import Times


@dataclass(frozen=True)
class Rest:
    """Settled rows, each a request of its own, and the shards that hold them.

    ``counts`` are :data:`forensics.triage.counts.COUNTS`; ``timed`` says that prefill times are
    to be held against each other.
    """

    counts: pl.DataFrame
    held: Sequence[tuple[Shard, Left]]
    timed: bool = True

    @property
    def requests(self) -> int:
        """How many there are."""
        return int(self.counts["rows"].sum())

    @property
    def counted(self) -> pl.DataFrame:
        """Records per hour; that of a whole request is in no node's log."""
        rows = self.counts.group_by("hour").agg(
            pl.col("rows").sum().alias("records"),
            pl.col("first_at").min(),
            pl.col("last_at").max(),
        )
        nobody = pl.lit(None, dtype=pl.String).alias("node")
        return rows.with_columns(nobody, hop=pl.lit(JOINED)).select(*COUNTED)

    def attach(
        self,
        requests: pl.DataFrame,
        observed: pl.DataFrame,
        formats: Mapping[int, str | None],
        epochs: pl.DataFrame,
    ) -> tuple[pl.DataFrame, Timing]:
        """Add what prefill times say; arguments as :func:`forensics.timing.stage.attach`."""
        if not self.timed:
            nothing = [pl.lit(None, dtype).alias(name) for name, dtype in ADDED.items()]
            return requests.with_columns(nothing), NO_TIMES
        timed = [(shard, left) for shard, left in self.held if left.times is not None]
        files = [(left.times, left.rows) for _, left in timed if left.times is not None]
        times = Times(files, requests.height)
        return attach(
            requests, observed, formats, epochs, times, lambda file, at: fetch(*timed[file], at)
        )
