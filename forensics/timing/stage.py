"""The stage of the analysis: expectation, scores and clusters beside each request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from forensics.timing import clusters, grid
from forensics.timing.scores import SCORES, score
from forensics.timing.work import timed

UNKNOWN_SOURCE = "unknown source"


@dataclass(frozen=True)
class Timing:
    """What times said, beside the columns of the requests.

    ``clusters`` are those of :mod:`forensics.timing.clusters`. ``sources`` says for each
    source of times how many requests have one, of how many the work was ``known``, and how
    many were ``tested``: where none was, timing cannot decide. ``band`` is where times were
    expected (:class:`forensics.timing.scores.Scored`), ``grid`` where they lay
    (:mod:`forensics.timing.grid`).
    """

    clusters: pl.DataFrame
    sources: pl.DataFrame
    band: pl.DataFrame
    grid: pl.DataFrame


def attach(
    requests: pl.DataFrame,
    observed: pl.DataFrame,
    formats: Mapping[int, str | None],
    epochs: pl.DataFrame,
) -> tuple[pl.DataFrame, Timing]:
    """Add the scores and ``timing_cluster``; arguments as :func:`forensics.timing.work.timed`."""
    rows = timed(requests, observed, formats, epochs)
    judged = score(rows)
    scored = judged.rows
    work = rows.select("_row", uncached_tokens="uncached").join(scored, on="_row", how="left")
    numbered = requests.with_row_index("_row")
    found = numbered.join(work, on="_row", how="left", maintain_order="left")
    formed = clusters.form(found)
    found = found.join(formed.members, on="_row", how="left", maintain_order="left")
    columns = [*requests.columns, *SCORES, "timing_cluster"]
    times = Timing(
        clusters=formed.clusters,
        sources=_sources(rows, scored),
        band=judged.band,
        grid=grid.count(found, formed.clusters),
    )
    return found.select(columns), times


def _sources(rows: pl.DataFrame, scored: pl.DataFrame) -> pl.DataFrame:
    tested = rows.select("_row", "source", "uncached").join(
        scored.select("_row", tested=pl.lit(value=True)), on="_row", how="left"
    )
    counted = tested.group_by(pl.col("source").fill_null(UNKNOWN_SOURCE)).agg(
        pl.len().cast(pl.Int64).alias("requests"),
        pl.col("uncached").is_not_null().sum().cast(pl.Int64).alias("known"),
        pl.col("tested").fill_null(value=False).sum().cast(pl.Int64).alias("tested"),
    )
    return counted.sort("source")
