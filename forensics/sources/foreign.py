"""Lines of another format among the text of a log: two logs that were put together.

A reader hands on the lines that it has no use for. Those with a word that records of any
format have are told, lines that look alike together; where the reader of another format would
take something of one, it is unreadable in this log. It is not read as what it looks like: a
log prints what clients sent.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl

from forensics.sources import telltale
from forensics.sources.blocks import Block
from forensics.sources.blocksource import OneBlock
from forensics.sources.context import Context
from forensics.sources.detect import unwrapped
from forensics.sources.parsed import Parsed, Unread
from forensics.sources.spreads import together
from forensics.sources.tablerows import TableRows
from forensics.sources.within import Objects, nested, objects
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
_FIRST = 1 << 30
"""Number of the first of some rows: a wrapper counts the entries of a document from one."""
_Look = tuple[int, int, bool]
"""What lines look like, the words and names in them, and whether they stood within others."""
_DOCUMENT = {"text": pl.String(), "line": pl.Int64(), "whole": pl.Boolean()}
_BROKEN_OFF = "JSON over several lines that breaks off, and may be of another format"
_ROW = "row of a table in this log: put it into a file of its own"
_CUT = "JSON that breaks off, and may be of another format"
_BEHIND = "record behind other text in its line"
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
        self._words = telltale.words(context.incident)
        self.headings = telltale.headings(context.incident)
        """Names, one of which is in the header of each table that is read."""
        self._tables = TableRows(self.headings)
        self._inside = telltale.inside(context.incident)
        self._quiet: Counter[_Look] = Counter()
        self._looks = 0

    def __call__(self, texts: pl.Series, numbers: pl.Series) -> list[Unread]:
        """Return what another format's reader would take something of, one for each record."""
        lines = pl.DataFrame({"text": texts, "line": numbers})
        spread, broken = self._spread(lines)
        rows = pl.concat([lines, spread]).filter(
            self._may("text") & pl.col("text").str.contains(_MAY)
        )
        found = self._each(rows)
        told = {one.line for one in found}
        found += [one for one, part in broken if part or one.line not in told]
        told = {one.line for one in found}
        left = (line for line in self._tables.find(lines) if line not in told)
        found += [Unread(line, None, _ROW) for line in left]
        return sorted(found, key=lambda one: one.line or 0)

    def _each(self, rows: pl.DataFrame) -> list[Unread]:
        """Return what is told of rows as they are, or of the records within them if those are more.

        A text that no format knows may hold a list of records that one does.
        """
        plain, inner, cut = _parted(rows)
        told = self._parts(plain, inner)
        cut = cut.filter(self._may("text") & ~pl.col("line").is_in([one.line for one in told]))
        return told + [Unread(line, None, _CUT) for line in cut["line"]]

    def _parts(self, plain: pl.DataFrame, inner: pl.DataFrame) -> list[Unread]:
        held = self._looked(inner.filter(self._may("text")), within=True)
        found = _merged(self._looked(plain), held)
        told = {one.line for one in found}
        rest = pl.concat([plain, inner]).filter(~pl.col("line").is_in(list(told)))
        texts = [(text, line) for row, line in rest.iter_rows() for text in nested(row)]
        deeper = pl.DataFrame(texts, schema=plain.schema, orient="row")
        return found + (self._looked(deeper.filter(self._may("text"))) if texts else [])

    def _looked(self, rows: pl.DataFrame, *, within: bool = False) -> list[Unread]:
        """Return what is told of rows; ``within`` lines they were not met by the file's reader."""
        looks = rows.with_columns(_shape(), _held(self._words)).with_row_index("at")
        alike = looks.group_by("shape", "held", maintain_order=True).agg("at")
        return [
            one
            for shape, held, at in alike.iter_rows()
            for one in self._alike((shape, held, within), rows[at])
        ]

    def _may(self, name: str) -> pl.Expr:
        return pl.col(name).str.contains_any(self._words)

    def _spread(self, lines: pl.DataFrame) -> tuple[pl.DataFrame, list[tuple[Unread, bool]]]:
        """Return documents that are spread over lines, each as one, and those that break off.

        Of the latter it is said whether they do so within a record; their whole objects stand
        among the documents.
        """
        found = pl.DataFrame(list(together(lines)), schema=_DOCUMENT, orient="row")
        found = found.filter(self._may("text"))
        texts, broken = [], []
        for text, line, whole in found.iter_rows():
            held = objects(text)
            texts.append(text if whole else "".join(held.whole))
            if not whole:
                broken.append((Unread(line, None, _BROKEN_OFF), bool(held.broken)))
        rows = found.select(pl.Series("text", texts), pl.col("line").cast(lines["line"].dtype))
        return rows, broken

    def _alike(self, look: _Look, rows: pl.DataFrame) -> list[Unread]:
        """Return those of some lines that look alike and hold the same words and names."""
        if self._quiet[look] >= _TRIES:
            return []
        if self._looks >= _MOST:
            return [Unread(line, None, _TOO_MANY) for line in rows["line"]]
        self._looks += 1
        name, places = self._told(rows[:_AT_ONCE], within=look[2])
        if places and rows.height > _AT_ONCE:
            name, places = self._told(rows, within=look[2])
        self._quiet[look] += 0 if places else 1
        reason = f"line of another format ({name}) in this log: put it into a file of its own"
        reason = _BEHIND if name == self._own else reason
        return [Unread(rows.item(at, "line"), None, reason) for at in places]

    def _told(self, rows: pl.DataFrame, *, within: bool) -> tuple[str, list[int]]:
        """Return the format of some rows, and the place of the row of each record in it."""
        data = "".join(f"{text}\n" for text in rows["text"]).encode()
        numbers = np.arange(_FIRST, _FIRST + rows.height)
        stack = Stack(OneBlock(Block(data, _FIRST, None, numbers=numbers)))
        found = unwrapped(stack, self._context.incident)
        if found.format is None:
            return self._beside(rows)
        if found.format.name == self._own and not stack.layers and not within:
            return "", []
        parts = list(found.format.read(stack.source, self._context))
        places = _touched(parts, rows.height)
        if places is None and rows.height > 1:
            # A wrapper has counted entries of its own: whose they are is told one by one.
            told = [self._told(rows[at : at + 1], within=within)[1] for at in range(rows.height)]
            places = [at for at, some in enumerate(told) for _ in some]
        return found.format.name, [0] * _count(parts) if places is None else places

    def _beside(self, rows: pl.DataFrame) -> tuple[str, list[int]]:
        """Return the rows with a record that is a format's without what tells a file of it."""
        for name, keys in self._inside.items():
            within = rows["text"].str.contains(rf'"(?:{"|".join(keys)})\\*"\s*:')
            if within.any():
                return name, within.arg_true().to_list()
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


def _touched(parts: list[Parsed], height: int) -> list[int] | None:
    """Return the rows that something was taken of, or could not be; None: told by none of them."""
    if all(part.read == part.ignored["header"] for part in parts):
        return list(range(height))  # names of columns, without a row
    lines = {unread.line for part in parts for unread in part.unread}
    for part in parts:
        for frame in (*part.observations, *part.capacity, *part.markers, *part.traces):
            lines |= set(frame["line"])
    if not lines:
        return list(range(height)) if any(part.kept for part in parts) else []
    if any(line is None or line < _FIRST for line in lines):
        return None
    return sorted(line - _FIRST for line in lines if line is not None)


def _count(parts: list[Parsed]) -> int:
    return max(1, sum(part.kept + len(part.unread) for part in parts))


def _parted(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Return rows that are told as they are, the objects within rows, and those that break off."""
    plain, inner, cut = [], [], []
    for text, line in rows.iter_rows():
        found = objects(text) if "{" in text else Objects([], [], bare=False)
        alone = found.bare and len(found.whole) == 1 and text.lstrip()[:1] == "{"
        if alone or not found.bare:
            plain.append((text, line))
        inner += [] if alone else [(one, line) for one in found.whole]
        cut += [(one, line) for one in found.broken]
    made = [pl.DataFrame(some, schema=rows.schema, orient="row") for some in (plain, inner, cut)]
    return made[0], made[1], made[2]


def _merged(first: list[Unread], second: list[Unread]) -> list[Unread]:
    """Return, for each line, what more was found of."""
    counts = [Counter(one.line for one in found) for found in (first, second)]
    kept = [one for one in first if counts[0][one.line] >= counts[1][one.line]]
    return kept + [one for one in second if counts[1][one.line] > counts[0][one.line]]
