"""Lines of LMCache in the stream of another engine, whose prefix they have."""

from __future__ import annotations

import polars as pl

from forensics.sources.context import Context
from forensics.sources.parsed import Parsed
from forensics.sources.vllm import ids, lines
from forensics.sources.vllm.prefix import LMCACHE

__all__ = ["LMCACHE", "parse"]


def parse(rows: pl.DataFrame, context: Context, parsed: Parsed) -> None:
    """Add what the lines hold to ``parsed``; each is counted once.

    Args:
        rows: with ``line``, ``body`` without the prefix, ``known``, ``local``, ``naive``,
            ``identity``, ``dp`` and ``tp``.
        context: the file that they stand in.
        parsed: where to add.
    """
    no_place = pl.lit(None, dtype=pl.String)
    no = pl.lit(value=False)
    named = rows.with_columns(
        no_place.alias("head"),
        no.alias("front"),
        no_place.alias("file"),
        no.alias("yearless"),
        no.alias(ids.ADDED),
    )
    lines.parse(named, context, parsed)
