"""Whose clock a time is from, and what zone that clock ran in.

Engine logs write node-local time without a zone. In this order: the zone stated in
``[logs] timezone``; the offset between the node's wall clock and its own epoch
stamps, the most frequent one; else UTC is assumed, and said so.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import polars as pl

from forensics import years
from forensics.years import Span

ZONE_UNCERTAINTY = 14 * 3_600_000_000
"""No zone is further than 14 hours from UTC, microseconds."""


@dataclass(frozen=True)
class Clocks:
    """Offset of each node's wall clock from UTC in microseconds, or the stated zone.

    ``span`` tells the year of times that were written without one.
    """

    offsets: dict[str, int]
    timezone: str | None = None
    span: Span | None = None

    @classmethod
    def infer(
        cls, counts: Counter[tuple[str, int]], timezone: str | None, span: Span | None = None
    ) -> Clocks:
        """Return each node's most frequent offset; of equals the one nearest to zero.

        What no zone can be is no offset: a stamp of the host's start, or one never set.
        """
        best: dict[str, tuple[int, int, int]] = {}
        for (node, offset), count in counts.items():
            if abs(offset) > ZONE_UNCERTAINTY:
                continue
            rank = (count, -abs(offset), offset)
            best[node] = max(best.get(node, rank), rank)
        return cls({node: rank[2] for node, rank in best.items()}, timezone, span)

    def resolve(self, frame: pl.DataFrame, columns: list[str]) -> pl.DataFrame:
        """Turn naive times into UTC and add ``assumed``: the zone was a guess."""
        if "naive" not in frame.columns or not frame["naive"].any():
            return frame.with_columns(assumed=pl.lit(value=False))
        frame = years.told(frame, columns, self.span)
        naive = pl.col("naive").fill_null(value=False)
        node = pl.col("source_node")
        if self.timezone is not None:
            changed = [self._zoned(name, naive) for name in columns if name in frame.columns]
            return frame.with_columns(*changed, assumed=pl.lit(value=False))
        offset = node.replace_strict(
            list(self.offsets) or [""],
            list(self.offsets.values()) or [0],
            default=None,
            return_dtype=pl.Int64,
        )
        shift = pl.when(naive).then(offset.fill_null(0)).otherwise(0)
        return frame.with_columns(
            *((pl.col(name) - shift).alias(name) for name in columns if name in frame.columns),
            assumed=naive & offset.is_null(),
        )

    def _zoned(self, name: str, naive: pl.Expr) -> pl.Expr:
        local = pl.col(name).cast(pl.Datetime("us"))
        moved = local.dt.replace_time_zone(
            self.timezone, ambiguous="earliest", non_existent="null"
        ).dt.convert_time_zone("UTC")
        return pl.when(naive).then(moved.to_physical()).otherwise(pl.col(name)).alias(name)
