"""Pairs from several places in one order, without a second copy of all of them at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import polars as pl

from forensics.attribution import pairing


def ordered(parts: list[pl.DataFrame]) -> pl.DataFrame:
    """Return the rows of all parts in order of :data:`forensics.attribution.pairing.PAIR_ORDER`.

    Args:
        parts: pairs, the first of them in this order already, the others in that of their ids.
    """
    base, rest = parts[0], [part for part in parts[1:] if part.height]
    if not rest:
        return base
    every = [base, *rest]
    edges = sorted({edge for part in every for edge in _edges(part["request_id"])})
    cuts = [_cut(part, edges) for part in every]
    pieces: list[pl.DataFrame] = [
        pairing.sort(pl.concat(some, how="diagonal_relaxed")) for some in zip(*cuts, strict=True)
    ]
    whole: pl.DataFrame = pl.concat(pieces, how="diagonal_relaxed")
    return whole


def slices(pairs: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yield pairs in order of ``request_id`` a part at a time, no id in two parts."""
    yield from _cut(pairs, _edges(pairs["request_id"]))


def beside(pairs: pl.DataFrame, parts: Sequence[pl.DataFrame]) -> list[pl.DataFrame]:
    """Return the pairs that may be of each of some parts of the responses.

    Args:
        pairs: in order of ``request_id``.
        parts: responses in the same order, none of them empty and no id in two.
    """
    return _cut(pairs, [str(part["request_id"][0]) for part in parts])[1:]


def _edges(ids: pl.Series) -> list[str]:
    """Return ids at which the rows are cut, in order and each once."""
    return ids.gather_every(pairing.PAIRS_AT_ONCE).unique().sort().to_list()[1:]


def _cut(part: pl.DataFrame, edges: list[str]) -> list[pl.DataFrame]:
    """Return the rows before the first edge, then those from each edge to the next."""
    ids = part["request_id"]
    found = [int(ids.search_sorted(edge, side="left")) for edge in edges]
    return [part[low:high] for low, high in pairwise([0, *found, part.height])]
