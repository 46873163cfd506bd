"""JSON that a record holds as text: only named paths of it become values."""

from __future__ import annotations

from collections import Counter

import polars as pl

from forensics.sources.blocks import Block
from forensics.sources.jsonlines import JsonColumns, Lines
from forensics.sources.values import NOT_A_VALUE


def decoded(
    texts: pl.Series, inner: JsonColumns, label: str, bad: Counter[str]
) -> dict[str, pl.Series]:
    """Return the named columns of some texts, row by row; the texts themselves end here.

    Args:
        texts: one JSON object each; null holds nothing.
        inner: the columns.
        label: under which ``bad`` counts the texts that cannot be read.
        bad: counts values that do not fit.
    """
    there = texts.is_not_null()
    fit = there & (texts != NOT_A_VALUE) & ~texts.str.contains("\n", literal=True)
    data = "\n".join(text if ok else "{}" for text, ok in zip(texts, fit, strict=True))
    found = inner.read(Block(data.encode(), 0, 0))
    unread = len({one.line for one in found.unread}) + found.blank + int((there & ~fit).sum())
    if unread:
        bad[label] += unread
    return _aligned(found, len(texts))


def _aligned(found: Lines, height: int) -> dict[str, pl.Series]:
    """Return the columns of all batches at the rows that their lines stand for."""
    columns: dict[str, pl.Series] = {}
    for batch in found.batches:
        for name, series in batch.columns.items():
            whole = columns.get(name, pl.Series(name, [None] * height, dtype=series.dtype))
            if whole.dtype != series.dtype:
                whole, series = whole.cast(pl.String), series.cast(pl.String)
            columns[name] = whole.scatter(batch.lines, series)
    return columns
