"""Hours in which no log of any hop holds a record, amid hours that do.

Nothing proves what was lost of such an hour. Where some hop logs enough in an hour that none is
no chance, records are missing; where they are few, it cannot be told whether any is.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from forensics.activity import HOUR
from forensics.coverage.hours import BUSY


@dataclass(frozen=True)
class Quiet:
    """Hours without any record: those that are missing, and those of which it cannot be told."""

    missing: int
    untold: int


def quiet(hours: pl.DataFrame) -> Quiet:
    """Return how many such hours there are; hours of a node that are gaps are counted there.

    Args:
        hours: of :class:`forensics.coverage.Coverage`.
    """
    rows = hours.filter(pl.col("hour").is_not_null())
    seen = rows.filter(pl.col("records") > 0)
    if not seen.height:
        return Quiet(0, 0)
    known = pl.concat([seen["hour"], rows.filter("gap")["hour"]]).n_unique()
    first, last = int(seen["hour"].min()), int(seen["hour"].max())  # type: ignore[arg-type]
    empty = (last - first) // HOUR + 1 - known
    of_hop = seen.group_by("hop", "hour").agg(pl.col("records").sum())
    usual = of_hop.group_by("hop").agg(pl.col("records").median())["records"].max()
    busy = float(usual or 0) >= BUSY  # type: ignore[arg-type]
    return Quiet(empty if busy else 0, 0 if busy else empty)
