"""Below which prompt a row of a node is ruled out, whatever else: by all epochs it ever had."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from forensics.incident import Incident
from forensics.limits import epoch_nodes
from forensics.triage.counts import KEY

NO_LIMIT = 2**62


@dataclass(frozen=True)
class Floors:
    """The least limit of any epoch (``least``), and largest page; and epochs, for single nodes.

    ``stated`` is a threshold that holds everywhere; ``slack`` is taken off every limit.
    """

    epochs: pl.DataFrame
    stated: int | None
    slack: int
    least: int
    page: int

    @classmethod
    def of(cls, epochs: pl.DataFrame, incident: Incident) -> Floors:
        """Return the floors of some epochs and an incident."""
        stated, slack = incident.trigger.threshold_tokens, incident.trigger.slack_tokens
        limits = [epochs["limit"].min(), epochs["limit_low"].min()]
        known = [int(limit) for limit in limits if limit is not None]  # type: ignore[arg-type]
        if stated is not None:
            known = [stated + 1]
        page = epochs["page_tokens"].max()
        least = min(known, default=NO_LIMIT) - slack
        return cls(epochs, stated, slack, least, 0 if page is None else int(page))  # type: ignore[arg-type]

    def settled(self, counts: pl.DataFrame) -> pl.Series:
        """Say which counts are of rows that are ruled out, each by its own record.

        They are below every limit that is known of any node; and where their hand-off is not
        known to be complete, the limit of their own node is known through all their time.
        """
        since = self._since(counts["prefill_node"])
        limited = counts.join(since, on="prefill_node", how="left", maintain_order="left")
        known = (pl.col("first_at") >= pl.col("since")).fill_null(value=False)
        return limited.select(
            (pl.col("prompt") < self.least)
            & (pl.col("page").is_null() | (pl.col("page") > self.page))
            & (pl.col("complete") | (known if self.stated is None else pl.lit(value=True)))
        ).to_series()

    def unsettled(self, counts: pl.DataFrame) -> pl.DataFrame:
        """Return the keys of counts whose rows have to be looked at."""
        return counts.filter(~self.settled(counts)).select(KEY)

    def _since(self, nodes: pl.Series) -> pl.DataFrame:
        """Return from when on the limit of each node is known without a gap or a doubt."""
        known = self.epochs.group_by("node").agg(
            since=pl.col("effective_at").min(),
            sure=(pl.col("limit").is_not_null() & pl.col("limit_low").is_not_null()).all()
            & ~pl.col("assumed").any()
            & (pl.col("shown_from").null_count() == pl.len()),
        )
        known = known.filter("sure").select("node", "since")
        named = epoch_nodes(nodes, self.epochs)
        rows = {"prefill_node": list(named), "node": list(named.values())}
        homes = pl.DataFrame(rows, schema={"prefill_node": pl.String, "node": pl.String})
        return homes.join(known, on="node").select("prefill_node", "since")
