"""Lines that are part of a record above them, whatever they look like.

Where a message has several lines, the engine puts the whole prefix before each of them: text
of a client can then begin a line like a message of its own. And a record whose quotes are
still open goes on in the lines below it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import polars as pl

CONTINUED = "further line of a record"
_CLOSES = (
    r"^[^\n]*['\"], (?:params|prompt_token_ids|prompt_embeds shape|output_token_ids"
    r"|lora_request|finish_reason): "
)


def continued(rows: pl.DataFrame, cut: pl.Expr) -> pl.Series:
    """Say which lines only carry another one on.

    One place in the engine's code prints one message: of lines with one prefix, time and
    place included, the first says which, and a line with another message is no record. One
    that was cut off before it said which says nothing of those behind it.

    Args:
        rows: with ``known``, ``head``, ``file`` (null: the prefix names no place) and
            ``message`` (null: none), in their order.
        cut: tells the lines that were cut off.
    """
    message = pl.col("message").fill_null(-1)
    told = pl.when(~cut).then(message)
    first = told.drop_nulls().first().over("head")
    placed = pl.col("known") & pl.col("file").is_not_null()
    behind = (~cut).cum_sum().over("head") > 0
    return rows.select((placed & behind & (message != first)).fill_null(value=False)).to_series()


def enclosed(rows: pl.DataFrame, opened: Sequence[int]) -> pl.Series:
    """Say which lines stand within a record that is open at its end, up to where it closes.

    A record that closes nowhere was cut off by whoever collected the log.

    Args:
        rows: with ``line``, ``known`` and ``body``, in their order.
        opened: lines of records that are not in a known form.
    """
    ends = ~pl.col("known") & pl.col("body").str.contains(_CLOSES)
    closes = rows.filter(ends)["line"].to_list()
    spans = []
    for at, begin in enumerate(opened):
        following = opened[at + 1] if at + 1 < len(opened) else None
        last = len(closes) if following is None else bisect_left(closes, following)
        if last and closes[last - 1] > begin:
            spans.append((begin, closes[last - 1]))
    return _within(rows["line"], spans)


def _within(lines: pl.Series, spans: Sequence[tuple[int, int]]) -> pl.Series:
    """Say which lines are behind the begin of a span, up to its end; spans do not overlap."""
    if not spans:
        return pl.repeat(False, len(lines), dtype=pl.Boolean, eager=True)
    begins = pl.DataFrame({"begin": [b for b, _ in spans], "end": [e for _, e in spans]})
    at = begins["begin"].search_sorted(lines, side="left").cast(pl.Int64) - 1
    end = begins["end"].gather(at.clip(0))
    return (at >= 0) & (lines <= end)
