"""Do the engine's own figures show enough to believe a replay that they do not contradict?

A figure is a witness of the holds of its moment. A few agree by chance, and hours without any say
nothing of what ran in them. Shares are printed to two decimals: of a pool that is hardly used they
fit many sizes, and when pages are used again hangs on its size. Where witnesses are too few,
nothing tells a record of another rank, pool or moment from a true one: whom a replay names is
possible then, and never more. Of a rank without any figure there is nothing to hold a replay
against, and the report says so.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from forensics.activity import HOUR
from forensics.attribution.holds import Holds, Ints
from forensics.attribution.stay import Stay

FEWEST = 50
"""Holds with a figure of their time: were one in twenty wrong, chance would hide all of them less
than once in ten times."""
SEEN = 0.9
"""From this share of the holds on that are of an hour with such a hold, all of the stay is seen."""
POOL = 0.01
"""To this share of itself, up and down, the figures have to tell how large the pool is."""
_MOMENT = 1_000_000
"""Of a figure that may be of any later moment, it is not known which holds it is of."""


def lacking(stay: Stay, said: pl.DataFrame, least: Ints, most: Ints) -> Iterator[str]:
    """Yield codes of :data:`forensics.attribution.reasons.UNCHECKED`: what the figures leave open.

    Args:
        stay: with holds.
        said: figures that fit, in order of ``at``, with ``lasts``, ``used_tokens``, ``usage`` and
            the ``rounding`` of this.
        least: pages held at each by the records.
        most: the same, at the most.
    """
    if stay.stated:
        yield "stated"
    if not said.height:
        yield "no_figures"
        return
    if stay.holds is not None:
        yield from _unseen(stay.holds, said.filter(pl.col("lasts") <= _MOMENT)["at"].to_numpy())
    if not _tell_the_pool(stay, said, least, most):
        yield "pool_unconfirmed"


def _unseen(holds: Holds, moments: Ints) -> Iterator[str]:
    """Yield what keeps figures of some moments from being of most holds."""
    first = np.searchsorted(moments, holds.reserved, side="left")
    met = first < np.searchsorted(moments, holds.released, side="right")
    if met.sum() < FEWEST:
        yield "few_figures"
    hours = holds.reserved // HOUR
    if np.isin(hours, hours[met]).mean() < SEEN:
        yield "hours_without_figures"


def _tell_the_pool(stay: Stay, said: pl.DataFrame, least: Ints, most: Ints) -> bool:
    """Say whether shares of the pool, of so many pages, leave no size that is far from the stated.

    The pages are the engine's where it tells them, else those that the records add up to.
    """
    known = said.with_columns(
        low=pl.lit(least - 1), high=pl.lit(most + 1), told=pl.col("used_tokens") / stay.page_tokens
    )
    share, off = pl.col("usage"), pl.col("rounding")
    low, high = (pl.coalesce("told", name) for name in ("low", "high"))
    smallest, largest = known.select(
        low=(low / (share + off)).max(), high=(high / (share - off)).filter(share > off).min()
    ).row(0)
    if smallest is None or largest is None:
        return False
    # What is left of the pool beside whole pages counts in the engine's share.
    margin = POOL * stay.pool_pages + 1
    return bool(smallest >= stay.pool_pages - margin and largest <= stay.pool_pages + margin)
