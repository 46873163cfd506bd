"""Scores and clusters of the kept rows, measured by the times of all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain

import numpy as np
import polars as pl

from forensics.timing import blocks, clusters
from forensics.timing.bins import Integers
from forensics.timing.blocks import Block
from forensics.timing.expected import rounded
from forensics.timing.scores import SCORES, Judged, judge
from forensics.timing.stage import NO_TIMES, Timing
from forensics.timing.work import timed
from forensics.triage.times import Times

Fetch = Callable[[int, Integers], pl.DataFrame]
"""Rows of a file of times by their places, under :data:`forensics.triage.shards.FETCHED`."""


def attach(
    requests: pl.DataFrame,
    observed: pl.DataFrame,
    formats: Mapping[int, str | None],
    epochs: pl.DataFrame,
    times: Times,
    fetch: Fetch,
) -> tuple[pl.DataFrame, Timing]:
    """Add the scores and ``timing_cluster`` to the kept requests.

    Args:
        requests: those that were kept; the others as :func:`forensics.timing.stage.attach`.
        observed: the records behind them.
        formats: of each file number.
        epochs: capacity epochs.
        times: those of all other rows, numbered behind the requests.
        fetch: gives single rows of these.
    """
    own = list(blocks.of(timed(requests, observed, formats, epochs)))
    judged = judge(lambda: chain(own, times.blocks()))
    flagged = np.concatenate([judged.fast, judged.slow])
    others = np.sort(flagged[flagged >= requests.height])
    far = list(_only(times, others))
    known = requests.with_row_index("_row")
    found = known.join(_scores(judged, [*own, *far]), on="_row", how="left", maintain_order="left")
    beside = _fetched(times, others, fetch).join(_scores(judged, far), on="_row")
    formed = clusters.form(pl.concat([found, beside], how="diagonal_relaxed"))
    found = found.join(formed.members, on="_row", how="left", maintain_order="left")
    return found.select(*requests.columns, *SCORES, "timing_cluster"), NO_TIMES


def _only(times: Times, rows: Integers) -> Iterator[Block]:
    """Yield single rows of some times."""
    if len(rows):
        for block in times.blocks():
            yield block.kept(np.flatnonzero(np.isin(block.row, rows)))


def _scores(judged: Judged, parts: list[Block]) -> pl.DataFrame:
    """Return the scores of the rows of some blocks that were tested."""
    held = [pl.DataFrame(schema=_SCORES)]
    for known, _ in judged.expected.all(parts):
        curve, row = rounded(known.curve), known.block.row
        held.append(
            pl.DataFrame(
                {
                    "_row": row.astype(np.uint32),
                    "expected_prefill_ms": curve,
                    "timing_ratio": known.block.ms / curve,
                    "timing_fast": np.isin(row, judged.fast),
                    "timing_slow": np.isin(row, judged.slow),
                    "uncached_tokens": known.block.uncached,
                }
            )
        )
    return pl.concat(held)


_SCORES: dict[str, pl.DataType] = {
    "_row": pl.UInt32(),
    "expected_prefill_ms": pl.Float64(),
    "timing_ratio": pl.Float64(),
    "timing_fast": pl.Boolean(),
    "timing_slow": pl.Boolean(),
    "uncached_tokens": pl.Int64(),
}


def _fetched(times: Times, rows: Integers, fetch: Fetch) -> pl.DataFrame:
    """Return single rows that were counted, as far as clusters ask of them."""
    found = [pl.DataFrame(schema={"_row": pl.UInt32, "prefill_node": pl.String})]
    at = 0
    for file, places in times.places(rows):
        number = pl.Series("_row", rows[at : at + len(places)].astype(np.uint32))
        found.append(fetch(file, places).with_columns(number))
        at += len(places)
    together = pl.concat(found, how="diagonal")
    if not len(rows):
        return together
    prompt = pl.coalesce("prompt_tokens", "decode_prompt_tokens")
    return together.with_columns(prompt_tokens=prompt, limit_low=pl.lit(None, dtype=pl.Int64))
