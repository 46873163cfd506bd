"""The stage of the analysis: expectation, scores and clusters beside each request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from forensics.timing import clusters, grid
from forensics.timing.band import Band
from forensics.timing.baseline import LEAST_REQUESTS
from forensics.timing.paces import PACES
from forensics.timing.scores import SCORES, Scored, score
from forensics.timing.silent import SILENT
from forensics.timing.work import timed, unusable

UNKNOWN_SOURCE = "unknown source"
UNLIKE: dict[str, pl.DataType] = {
    **dict.fromkeys(("source", "node", "reason"), pl.String()),
    "requests": pl.Int64(),
}


@dataclass(frozen=True)
class Timing:
    """What times said, beside the columns of the requests.

    ``clusters`` are those of :mod:`forensics.timing.clusters`. ``sources`` says for each
    source of times how many requests have one, of how many the work was ``known``, and how
    many were ``tested``: where none was, timing cannot decide. Of the others ``no_prompt`` and
    ``no_cached`` lack a count, ``nothing_left`` have counts that leave nothing to compute, and
    ``few`` and ``alike`` are of models with too few requests or too few lengths, and ``shifted``
    ran at another pace than their node's, with too few at that pace. ``band`` is
    where times were expected (:class:`forensics.timing.scores.Scored`), ``grid`` where they lay
    (:mod:`forensics.timing.grid`). ``unusable`` are times of zero and others that no prefill
    takes. ``silent`` counts prompts over the limit of which no time could have said
    anything (:mod:`forensics.timing.silent`), and ``paces`` says which nodes ran at another
    pace for a while (:mod:`forensics.timing.paces`). ``unlike`` counts those that are far too
    fast and not called so, by reason (:mod:`forensics.timing.doubts`).
    """

    clusters: pl.DataFrame
    sources: pl.DataFrame
    band: pl.DataFrame
    grid: pl.DataFrame
    unusable: int = 0
    silent: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=SILENT))
    paces: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=PACES))
    unlike: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=UNLIKE))


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
            pl.lit(None, dtype).alias(n) for n, dtype in ADDED.items()
        ), replace(NO_TIMES, unusable=unusable(requests))
    scored = score(rows, requests.height)
    found = requests.with_row_index("_row").with_columns(
        *scored.columns, _work(rows, requests.height).alias("uncached_tokens")
    )
    formed = clusters.form(found)
    found = found.with_columns(_of_each(found["_row"], formed.members))
    times = Timing(
        clusters=formed.clusters,
        sources=_sources(rows, scored),
        band=scored.band,
        grid=grid.count(found, formed.clusters),
        unusable=unusable(requests),
        silent=scored.silent,
        paces=scored.paces,
        unlike=scored.unlike,
    )
    return found.select(*requests.columns, *SCORES, "timing_cluster"), times


def _of_each(rows: pl.Series, members: pl.DataFrame) -> pl.Series:
    """Return the cluster of each row: joined to all their columns, these would be copied."""
    own = rows.to_frame().join(members, on="_row", how="left", maintain_order="left")
    return own["timing_cluster"]


ADDED: dict[str, pl.DataType] = {
    **dict.fromkeys(SCORES[:2], pl.Float64()),
    **dict.fromkeys(SCORES[2:], pl.Boolean()),
    "timing_cluster": pl.Int64(),
}
_PARTS = ("no_prompt", "no_cached", "nothing_left", "few", "alike", "shifted")
_COUNTS = dict.fromkeys(("requests", "known", "tested", *_PARTS), pl.Int64())
NO_TIMES = Timing(
    clusters=pl.DataFrame(schema=clusters.CLUSTERS),
    sources=pl.DataFrame(schema={"source": pl.String(), **_COUNTS}),
    band=Band().table(),
    grid=pl.DataFrame(schema=grid.CELLS),
)
"""Where no record has a time."""


def _work(rows: pl.DataFrame, size: int) -> pl.Series:
    """Return the tokens that had to be computed for each request, null where they are not known."""
    found = np.zeros(size, dtype=np.int64)
    found[rows["_row"].to_numpy()] = rows["uncached"].fill_null(0).to_numpy()
    tokens = pl.Series(found)
    return tokens.set(tokens == 0, None)


def _sources(rows: pl.DataFrame, scored: Scored) -> pl.DataFrame:
    prompt, cached = (pl.col(name).is_not_null() for name in ("prompt", "cached"))
    known = pl.col("uncached").is_not_null()
    tested, shifted = pl.col("tested"), pl.col("shifted")
    enough = known.sum().over("source", "model") >= LEAST_REQUESTS
    counts = {
        "requests": pl.lit(value=True),
        "known": known,
        "tested": tested,
        "no_prompt": ~prompt,
        "no_cached": prompt & ~cached,
        "nothing_left": prompt & cached & ~known,
        "few": known & ~tested & ~shifted & ~enough,
        "alike": known & ~tested & ~shifted & enough,
        "shifted": known & ~tested & shifted,
    }
    marked = rows.with_columns(
        tested=scored.columns["timing_ratio"].gather(rows["_row"]).is_not_null(),
        shifted=scored.shifted.gather(rows["_row"]),
    )
    source = pl.col("source").fill_null(UNKNOWN_SOURCE)
    counted = marked.select(source, **counts).group_by("source").agg(pl.all().sum())
    return counted.cast(_COUNTS).sort("source")  # type: ignore[arg-type]
