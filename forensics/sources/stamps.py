"""The time that a log collector gave a line, in place of the one that the line begins with."""

from __future__ import annotations

import polars as pl

from forensics import years
from forensics.sources.parsed import Parsed
from forensics.sources.sglang.clock import count_offsets


class Outer:
    """The collector's times of some lines.

    It knows its zone and the year, and was set for all nodes alike; so it wins, and the
    line's own clock says how far the node's is from it.

    Args:
        lines: ``line`` and, where a collector told the time, ``outer`` in microseconds of UTC.
        node: who wrote them.
        parsed: where offsets of the node's clock are counted.
    """

    def __init__(self, lines: pl.DataFrame, node: str, parsed: Parsed) -> None:
        self._times = lines.select("line", "outer") if "outer" in lines.columns else None
        self._node = node
        self._parsed = parsed

    def __call__(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return rows with ``line``, ``local`` and ``naive`` under the collector's time."""
        if self._times is None:
            return rows
        rows = rows.join(self._times, on="line", how="left", maintain_order="left")
        told = pl.col("outer").is_not_null()
        own = rows.filter(told & pl.col("naive") & ~years.is_untold("local"))
        count_offsets(own["local"] - own["outer"], self._node, self._parsed)
        return rows.with_columns(
            local=pl.coalesce("outer", "local"), naive=pl.col("naive") & ~told
        ).drop("outer")
