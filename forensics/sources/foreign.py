"""Lines of another format among the text of a log: two logs that were put together.

A reader hands on the lines that it has no use for. Those with a word that records of any
format have are told, lines that look alike together; where the reader of another format would
take something of one, it is unreadable in this log. It is not read as what it looks like: a
log prints what clients sent.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import polars as pl

from forensics.sources import plain, registry, telltale
from forensics.sources.blocks import Block
from forensics.sources.blocksource import OneBlock
from forensics.sources.context import Context
from forensics.sources.parsed import Parsed, Unread
from forensics.sources.spreads import together
from forensics.sources.wrappers.stack import Stack

_MAY = r'\d\d:\d\d:\d\d|\{\s*"|=|\[TensorRT-LLM\]|^"?[\w.-]+"?(?:,"?[\w. ()-]+"?)+\s*$'
"""What a line of any format holds: a time, a record, a value with its name, or names of columns."""
_NAMED = r'[A-Za-z_][\w.-]*(?:=|\\*"\s*:)'
_LOOK = 100
"""Characters by which lines look alike, beside the telling words and names in all of them."""
_TRIES = 3
"""After so many looks at lines of one kind that held nothing, the kind is known to hold nothing."""
_MOST = 1_000
"""Looks at one file: what is left then is unreadable, since it may hold anything."""
_AT_ONCE = 200
_DOCUMENT = {"text": pl.String(), "line": pl.Int64(), "whole": pl.Boolean()}
_BROKEN_OFF = "JSON over several lines that breaks off, and may be of another format"
_TOO_MANY = "line that may be of another format: too many kinds of such lines to look at each"


class Foreign:
    """Tells which lines of one file hold records of another format.

    Args:
        own: name of the file's format.
        context: the file.
    """

    def __init__(self, own: str, context: Context) -> None:
        self._own = own
        self._context = replace(context, foreign=None)
        self._names = plain.names(context.incident)
        self._words = telltale.words(context.incident)
        self.headings = telltale.headings(context.incident)
        """Names, one of which is in the header of each table that is read."""
        self._inside = telltale.inside(context.incident)
        self._quiet: Counter[tuple[int, int]] = Counter()
        self._looks = 0

    def __call__(self, texts: pl.Series, numbers: pl.Series) -> list[Unread]:
        """Return the lines that another format's reader would take something of."""
        lines = pl.DataFrame({"text": texts, "line": numbers})
        spread, broken = self._spread(lines)
        rows = pl.concat([lines, spread]).filter(
            self._may("text") & pl.col("text").str.contains(_MAY)
        )
        looks = rows.with_columns(_shape(), _held(self._words)).with_row_index("at")
        alike = looks.group_by("shape", "held", maintain_order=True).agg("at", "line")
        found = [
            one
            for shape, held, at, numbers in alike.iter_rows()
            for one in self._alike((shape, held), rows, at, numbers)
        ]
        each = {one.line: one for one in (*broken, *found)}
        return sorted(each.values(), key=lambda one: one.line or 0)

    def _may(self, name: str) -> pl.Expr:
        return pl.col(name).str.contains_any(self._words)

    def _spread(self, lines: pl.DataFrame) -> tuple[pl.DataFrame, list[Unread]]:
        """Return documents that are spread over lines, each as one, and those that break off."""
        found = pl.DataFrame(list(together(lines)), schema=_DOCUMENT, orient="row")
        found = found.filter(self._may("text"))
        broken = found.filter(~pl.col("whole"))["line"]
        whole = found.filter("whole").select("text", pl.col("line").cast(lines["line"].dtype))
        return whole, [Unread(line, None, _BROKEN_OFF) for line in broken]

    def _alike(
        self, look: tuple[int, int], rows: pl.DataFrame, at: list[int], numbers: list[int]
    ) -> list[Unread]:
        """Return those of some lines that look alike and hold the same words and names."""
        if self._quiet[look] >= _TRIES:
            return []
        if self._looks >= _MOST:
            return [Unread(line, None, _TOO_MANY) for line in numbers]
        self._looks += 1
        name, lines = self._told(rows[at[:_AT_ONCE]])
        if lines and len(at) > _AT_ONCE:
            name, lines = self._told(rows[at])
        self._quiet[look] += 0 if lines else 1
        reason = f"line of another format ({name}) in this log: put it into a file of its own"
        return [Unread(line, None, reason) for line in lines]

    def _told(self, rows: pl.DataFrame) -> tuple[str, list[int]]:
        data = "".join(f"{text}\n" for text in rows["text"]).encode()
        numbers = rows["line"].to_numpy()
        stack = Stack(OneBlock(Block(data, int(numbers[0]), None, numbers=numbers)))
        stack.peel(self._names)
        found = registry.tell(stack, self._context.incident)
        if found.format is None and stack.peel(self._names, weak=True):
            found = registry.tell(stack, self._context.incident)
        if found.format is None:
            return self._beside(rows)
        if found.format.name == self._own and not stack.layers:
            return "", []
        parts = list(found.format.read(stack.source, self._context))
        return found.format.name, _touched(parts, rows)

    def _beside(self, rows: pl.DataFrame) -> tuple[str, list[int]]:
        """Return the lines with a record that is a format's without what tells a file of it."""
        for name, keys in self._inside.items():
            within = rows["text"].str.contains(rf'"(?:{"|".join(keys)})\\*"\s*:')
            if within.any():
                return name, rows.filter(within)["line"].to_list()
        return "", []


def _shape() -> pl.Expr:
    """Return what a line begins like, whatever its words and numbers are."""
    begin = pl.col("text").str.slice(0, _LOOK).str.replace_all(r"[0-9]+", "0")
    return begin.str.replace_all(r"[A-Za-z]{2,}", "a").hash().alias("shape")


def _held(words: list[str]) -> pl.Expr:
    """Return which telling words a line holds, and which names with a value."""
    text = pl.col("text")
    found = text.str.extract_many(words, overlapping=True).list.concat(text.str.extract_all(_NAMED))
    return found.list.unique().list.sort().list.join("\n").hash().alias("held")


def _touched(parts: list[Parsed], rows: pl.DataFrame) -> list[int]:
    """Return the lines that something was taken of, or could not be."""
    if all(part.read == part.ignored["header"] for part in parts):
        return rows["line"].to_list()  # names of columns, without a row
    lines = {unread.line for part in parts for unread in part.unread}
    for part in parts:
        for frame in (*part.observations, *part.capacity, *part.markers, *part.traces):
            lines |= set(frame["line"])
    known = [line for line in rows["line"] if line in lines]
    kept = any(part.kept for part in parts)
    return known or (rows["line"].to_list() if kept else [])
