"""The stage of the analysis: expectation, scores and clusters beside each request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from forensics.timing import clusters, grid
from forensics.timing.band import Band
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
    if not rows.height:
        return requests.with_columns(
            pl.lit(None, dtype).alias(n) for n, dtype in _ADDED.items()
        ), _NO_TIMES
    scored = score(rows, requests.height)
    found = requests.with_row_index("_row").with_columns(
        *scored.columns, _work(rows, requests.height).alias("uncached_tokens")
    )
    formed = clusters.form(found)
    found = found.join(formed.members, on="_row", how="left", maintain_order="left")
    times = Timing(
        clusters=formed.clusters,
        sources=_sources(rows, scored.columns),
        band=scored.band,
        grid=grid.count(found, formed.clusters),
    )
    return found.select(*requests.columns, *SCORES, "timing_cluster"), times


_ADDED: dict[str, pl.DataType] = {
    **dict.fromkeys(SCORES[:2], pl.Float64()),
    **dict.fromkeys(SCORES[2:], pl.Boolean()),
    "timing_cluster": pl.Int64(),
}
_COUNTS = dict.fromkeys(("requests", "known", "tested"), pl.Int64())
_NO_TIMES = Timing(
    clusters=pl.DataFrame(schema=clusters.CLUSTERS),
    sources=pl.DataFrame(schema={"source": pl.String(), **_COUNTS}),
    band=Band().table(),
    grid=pl.DataFrame(schema=grid.CELLS),
)


def _work(rows: pl.DataFrame, size: int) -> pl.Series:
    """Return the tokens that had to be computed for each request, null where they are not known."""
    found = np.zeros(size, dtype=np.int64)
    found[rows["_row"].to_numpy()] = rows["uncached"].fill_null(0).to_numpy()
    tokens = pl.Series(found)
    return tokens.set(tokens == 0, None)


def _sources(rows: pl.DataFrame, scores: pl.DataFrame) -> pl.DataFrame:
    tested = scores["timing_ratio"].gather(rows["_row"]).is_not_null()
    counted = (
        rows.with_columns(tested=tested)
        .group_by(pl.col("source").fill_null(UNKNOWN_SOURCE))
        .agg(
            pl.len().cast(pl.Int64).alias("requests"),
            pl.col("uncached").is_not_null().sum().cast(pl.Int64).alias("known"),
            pl.col("tested").sum().cast(pl.Int64).alias("tested"),
        )
    )
    return counted.sort("source")
