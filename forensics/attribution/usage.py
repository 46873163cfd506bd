"""Does the replay fit: what was held by the records, against what batch lines say was in use.

A batch line names no request, so it is a witness of its own. Its figure must lie between the
least and the most that the records add up to at that moment; where only the highest figure of
a quarter of an hour is known, in that quarter. Where a line gives tokens and their share, both
together say how large the pool is. It says nothing about which page was whose: a wrong order of
reuse holds as many pages as the right one. Nor does it see what no line is near: a hold that is
moved between two lines changes no figure. Where the times of other hops allow the move as well
(see :mod:`forensics.attribution.hops`), or no more than one figure or hold in a thousand is
wrong, it stays unseen, and the replay names who a wrong order names.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from forensics import schema
from forensics.activity import HOUR
from forensics.attribution import enough
from forensics.attribution.deniedpools import MISFIT, ROUNDING
from forensics.attribution.holds import Holds, Ints
from forensics.attribution.stay import Stay
from forensics.capacity import server_of
from forensics.clock import Clocks

QUARTER = HOUR // 4
SECOND = 1_000_000
MINUTE = 60 * SECOND
_NEAR = 100_000
"""Microseconds by which a line may be off the moment of its figure, beside coarse stamps."""
_MISFITS = {"usage_differs", "pool_differs"}


def figures(found: list[pl.DataFrame], clocks: Clocks) -> pl.DataFrame:
    """Return ``node``, ``at``, ``lasts``, ``used_tokens`` and ``usage`` of decode batches, sorted.

    ``retracted`` counts requests that were put back within the span. The figure is that of some
    moment from ``at`` on that is at the most ``lasts`` later.

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
    moment = pl.col("batches").is_null()
    every = [
        _most(rows.filter(~moment), pl.col("at"), QUARTER),
        _most(rows.filter(moment), pl.col("at") // MINUTE, SECOND),
    ]
    return pl.concat(every).sort("node", "at", "lasts")


def _most(rows: pl.DataFrame, span: pl.Expr, lasts: int) -> pl.DataFrame:
    """Return the highest figure of each span, the earliest of equal ones: blocks part spans."""
    first = rows.sort("used_tokens", "usage", "at", descending=[True, True, False], nulls_last=True)
    most = first.group_by("node", span.alias("span"), maintain_order=True).agg(
        pl.col("at", "used_tokens", "usage").first(), pl.sum("retracted")
    )
    lasting = pl.lit(lasts, dtype=pl.Int64).alias("lasts")
    return most.select("node", "at", lasting, "used_tokens", "usage", "retracted")


def check(stay: Stay, told: pl.DataFrame) -> None:
    """Count the hours in which the engine's own figures fit; note what they deny or leave open.

    Args:
        stay: of one rank; without holds nothing is compared.
        told: see :func:`figures`.
    """
    if _put_back(stay, told):
        stay.reasons.add("retracted")
    if stay.holds is None or not len(stay.holds):
        return
    last = stay.last_read
    own = told.filter((pl.col("node") == stay.node) & (pl.col("at") >= stay.since))
    own = own.filter(pl.col("at") + pl.col("lasts") <= last)
    said = _said(own, stay).drop_nulls(["low", "high"])
    low, high = said["low"].to_numpy(), said["high"].to_numpy()
    least, most = _held(stay.holds, said["at"].to_numpy(), said["lasts"].to_numpy())
    of_pool = said["of_pool"].to_numpy()
    fits = (high >= least - 1) & (low <= most + 1)
    hours = pl.DataFrame({"hour": said["at"] // HOUR, "fits": fits & of_pool}).group_by("hour")
    by_hour = hours.agg(pl.col("fits").all())
    stay.hours, stay.hours_fitting = by_hour.height, int(by_hour["fits"].sum())
    agree = fits & of_pool
    stay.unchecked |= {*enough.lacking(stay, said.filter(agree), least[agree], most[agree])}
    for reason, agrees in (("usage_differs", fits), ("pool_differs", of_pool)):
        if (~agrees).sum() > MISFIT * len(agrees):
            stay.reasons.add(reason)


def doubt_siblings(found: list[Stay]) -> None:
    """Mark the stays on servers of which a stay is marked: records may name one rank for another.

    What was moved from a rank to its sibling need not change a figure there that any line shows.
    """
    marked = {server_of(stay.node) for stay in found if _MISFITS & stay.reasons}
    for stay in found:
        if server_of(stay.node) in marked and not _MISFITS & stay.reasons:
            stay.reasons.add("sibling_differs")


def _put_back(stay: Stay, told: pl.DataFrame) -> bool:
    """Say whether the rank put requests back: they take their pages again, and no log says when."""
    here = pl.col("node").is_in([stay.node, server_of(stay.node)]) & (pl.col("retracted") > 0)
    span = (pl.col("at") + pl.col("lasts") >= stay.since) & (pl.col("at") <= stay.last_read)
    return bool(told.select((here & span).any()).item())


def _said(rows: pl.DataFrame, stay: Stay) -> pl.DataFrame:
    """Return the least and most pages that the engine's figure of each span can mean.

    ``of_pool`` says whether its tokens and its share can be of a pool of this size.
    """
    pages = pl.col("used_tokens") / max(stay.page_tokens, 1)
    low = (pl.col("usage") - ROUNDING) * stay.pool_pages
    # What is left of the pool beside whole pages counts in the engine's share.
    high = (pl.col("usage") + ROUNDING) * (stay.pool_pages + 1)
    return rows.with_columns(
        rounding=pl.lit(ROUNDING),
        low=pl.coalesce(pages, low),
        high=pl.coalesce(pages, high),
        of_pool=pages.is_between(low, high).fill_null(value=True),
    )


def _held(holds: Holds, since: Ints, lasts: Ints) -> tuple[Ints, Ints]:
    """Return the least and the most pages held in each span.

    Growth lies anywhere within a hold: all of it counts to the most, none of it to the least.
    """
    near = _NEAR + int(max(coarse.max(initial=1) for coarse in holds.coarse))
    times = np.concatenate([holds.reserved, holds.released])
    order = np.argsort(times, kind="stable")
    times = times[order]
    begin = np.searchsorted(times, since - near, side="left")
    end = np.searchsorted(times, since + lasts + near, side="right")
    spans = [slice(a, b + 1) for a, b in zip(begin.tolist(), end.tolist(), strict=True)]
    least, most = (
        np.concatenate([[0], np.cumsum(np.concatenate([pages, -pages])[order])])
        for pages in (holds.pages, holds.pages + holds.grown)
    )
    smallest, largest = (
        np.array(each, dtype=np.int64)
        for each in ([least[s].min() for s in spans], [most[s].max() for s in spans])
    )
    return smallest, largest
