"""The look-back curve: how many tenants ran on the rank within some time before the read.

A page is more likely to hold what was written lately, but nothing says so of one page: the
curve shows how fast the circle widens, and is no share of anything.
"""

from __future__ import annotations

import polars as pl

from forensics.activity import HOUR

HOURS = (0.25, 1, 3, 6, 12, 24, 72, 168)
_NONE = 2**62


def curve(met: pl.DataFrame) -> pl.DataFrame:
    """Return ``hours`` (null: since the start), ``median`` and ``most`` tenants, ``responses``.

    Args:
        met: responses with tenants that ran on their rank before, and ``last_at``.
    """
    others = met.filter((pl.col("source_tenant_id") != pl.col("tenant_id")).fill_null(value=True))
    read = met["_row"].n_unique()
    rows: list[tuple[float | None, int, int, int]] = [
        (hours, *_within(others, read, int(hours * HOUR))) for hours in HOURS
    ]
    rows.append((None, *_within(others, read, _NONE)))
    kinds = {"hours": pl.Float64, "median": pl.Int64, "most": pl.Int64, "responses": pl.Int64}
    return pl.DataFrame(rows, schema=kinds, orient="row") if read else pl.DataFrame(schema=kinds)


def _within(others: pl.DataFrame, read: int, span: int) -> tuple[int, int, int]:
    near = others.filter(pl.col("read") - pl.col("last_at") <= span)
    counts = near.group_by("_row").len()["len"].sort(descending=True).to_list()
    counts += [0] * (read - len(counts))
    return (counts[len(counts) // 2], counts[0], read) if counts else (0, 0, 0)
