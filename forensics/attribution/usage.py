"""Does the replay fit: what was held by the records, against what batch lines say was in use.

A batch line names no request, so it is a witness of its own. Its figure must lie between the
least and the most that the records add up to in the same quarter of an hour. It says nothing
about which page was whose: a wrong order of reuse holds as many pages as the right one.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from forensics import schema
from forensics.activity import HOUR
from forensics.attribution.holds import Holds, Ints
from forensics.attribution.stays import Stay
from forensics.clock import Clocks

QUARTER = HOUR // 4
_SLACK = 2_000_000
"""Microseconds by which a line may be of the quarter before or after: stamps are coarse."""
_ROUNDING = 0.005
"""Shares of the pool are printed to two decimals."""
MISFIT = 0.01
"""From this share of quarters that differ on, the records and the engine disagree."""


def quarters(found: list[pl.DataFrame], clocks: Clocks) -> pl.DataFrame:
    """Return ``node``, ``at``, ``used_tokens`` and ``usage`` of decode batches, sorted.

    Args:
        found: frames of :data:`forensics.schema.ACTIVITY_COLUMNS`, in any split.
        clocks: zone of each node's wall clock.
    """
    wanted = {
        **schema.dtypes(schema.ACTIVITY_COLUMNS),
        "naive": pl.Boolean(),
        "source_node": pl.String(),
    }
    frame = pl.concat([pl.DataFrame(schema=wanted), *found], how="diagonal_relaxed")
    rows = clocks.resolve(frame, ["at"]).filter(pl.col("hop") == "decode")
    rows = rows.drop_nulls(["node", "at"])
    used = rows.group_by("node", "at").agg(pl.max("used_tokens"), pl.max("usage"))
    return used.sort("node", "at")


def check(stay: Stay, told: pl.DataFrame) -> None:
    """Count the hours in which the engine's own figures fit, and mark a stay that they do not.

    Args:
        stay: of one rank; without holds nothing is compared.
        told: see :func:`quarters`.
    """
    if stay.holds is None or not len(stay.holds):
        return
    last = stay.last_read
    own = told.filter((pl.col("node") == stay.node) & (pl.col("at") >= stay.since))
    own = own.filter(pl.col("at") + QUARTER <= last)
    low, high = _said(own, stay)
    known = own.with_columns(low=low, high=high).drop_nulls(["low", "high"])
    if not known.height:
        return
    least, most = _held(stay.holds, known["at"].to_numpy())
    fits = (known["high"].to_numpy() >= least - 1) & (known["low"].to_numpy() <= most + 1)
    hours = pl.DataFrame({"hour": known["at"] // HOUR, "fits": fits}).group_by("hour")
    by_hour = hours.agg(pl.col("fits").all())
    stay.hours, stay.hours_fitting = by_hour.height, int(by_hour["fits"].sum())
    if (~fits).sum() > MISFIT * len(fits):
        stay.reasons.add("usage_differs")


def _said(rows: pl.DataFrame, stay: Stay) -> tuple[pl.Series, pl.Series]:
    """Return the least and most pages that the engine's figure of each quarter can mean."""
    pages = rows["used_tokens"] / max(stay.page_tokens, 1)
    low, high = rows["usage"] - _ROUNDING, rows["usage"] + _ROUNDING
    share = pl.DataFrame({"p": pages, "l": low * stay.pool_pages, "h": high * stay.pool_pages})
    both = share.select(low=pl.coalesce("p", "l"), high=pl.coalesce("p", "h"))
    return both["low"], both["high"]


def _held(holds: Holds, since: Ints) -> tuple[Ints, Ints]:
    """Return the least and the most pages held in each quarter of an hour.

    Growth lies anywhere within a hold: all of it counts to the most, none of it to the least.
    """
    times = np.concatenate([holds.reserved, holds.released])
    order = np.argsort(times, kind="stable")
    times = times[order]
    begin = np.searchsorted(times, since - _SLACK, side="left")
    end = np.searchsorted(times, since + QUARTER + _SLACK, side="right")
    spans = [slice(a, b + 1) for a, b in zip(begin.tolist(), end.tolist(), strict=True)]
    least, most = (
        np.concatenate([[0], np.cumsum(np.concatenate([pages, -pages])[order])])
        for pages in (holds.pages, holds.pages + holds.grown)
    )
    return np.array([least[s].min() for s in spans]), np.array([most[s].max() for s in spans])
