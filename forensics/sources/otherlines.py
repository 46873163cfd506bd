"""Lines of text that a reader has no use for: counted, but for those of another format."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from forensics.sources.context import Context
from forensics.sources.parsed import Parsed, Unread

OTHER = "other line"
BLANK = "blank line"
ASKED = "record of a request, in no known format"
"""Of another program, with the fields of a request: it would count, and is not read."""
_REPLACED = "\ufffd"
_SPREAD = r'(?i)^\s*"(?:[\w.-]*(?:prompt|input|completion|output)_?tokens)"\s*:\s*[0-9]'
"""A count of tokens in a record that is spread over lines."""


def count(rows: pl.DataFrame, context: Context, parsed: Parsed, kind: str = OTHER) -> None:
    """Count lines that are none of the format's; those that are another's are unreadable here.

    Args:
        rows: with ``line`` and ``body``; and ``known``, where lines may have a prefix of the
            format, behind which no other one stands.
        context: the file that they stand in.
        parsed: where to count them.
        kind: what they are counted as.
    """
    blank = rows["body"].str.contains(r"^\s*$")
    if blank.any():
        parsed.ignored[BLANK] += int(blank.sum())
        rows = rows.filter(~blank)
    rows = _whole(rows, parsed)
    others = rows.filter(~pl.col("known")) if "known" in rows.columns else rows
    found = context.foreign(others["body"], others["line"]) if context.foreign else []
    parsed.unread += found
    if spread := int(others["body"].str.contains(_SPREAD).sum()):
        parsed.notes[ASKED] += spread
    held = len({one.line for one in found})
    parsed.read += len(found) - held  # a line may hold several records
    parsed.ignored[kind] += rows.height - held


def _whole(rows: pl.DataFrame, parsed: Parsed) -> pl.DataFrame:
    """Leave out lines of the format's own with damaged bytes: what they said cannot be told."""
    if "known" not in rows.columns or not rows["body"].str.contains(_REPLACED, literal=True).any():
        return rows
    damaged = rows["known"] & rows["body"].str.contains(_REPLACED, literal=True)
    lines = rows.filter(damaged)["line"]
    parsed.unread += [Unread(line, None, "invalid UTF-8") for line in lines]
    return rows.filter(~damaged)


def count_lines(
    lines: Sequence[bytes], numbers: Sequence[int], context: Context, parsed: Parsed
) -> None:
    """Count lines as :func:`count` does."""
    if lines:
        texts = pl.Series("body", [line.decode("utf-8", "replace") for line in lines])
        rows = texts.to_frame().with_columns(line=pl.Series(numbers, dtype=pl.Int64))
        count(rows, context, parsed)
