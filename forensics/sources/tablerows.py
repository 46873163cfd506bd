"""Rows of a table among the lines of a log: below a line with names of columns.

A row by itself looks like any text with commas: what it is only its header tells.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator

import polars as pl

_HEADER = r'^\s*"?[A-Za-z_][\w. ()-]*"?(?:,\s*"?[A-Za-z_][\w. ()-]*"?)+\s*$'
_NAME = re.compile(r'[",]+')


class TableRows:
    """Tells the rows; a table may go on in the next lines that are asked about.

    Args:
        headings: names, one of which is in the header of each table that is read.
    """

    def __init__(self, headings: frozenset[str]) -> None:
        self._headings = headings
        self._fields = 0
        self._next = -1

    def find(self, lines: pl.DataFrame) -> list[int]:
        """Return the numbers of lines that are rows of a table, its header not among them.

        Args:
            lines: ``text`` and ``line``, in their order.
        """
        headers = lines.filter(pl.col("text").str.contains(_HEADER))
        begins = {line for text, line in headers.iter_rows() if self._is_header(text)}
        if not begins and (not lines.height or lines["line"][0] != self._next):
            return []
        return list(self._rows(lines, begins))

    def _is_header(self, text: str) -> bool:
        return not self._headings.isdisjoint(name.strip() for name in _NAME.split(text))

    def _rows(self, lines: pl.DataFrame, begins: set[int]) -> Iterator[int]:
        for text, line in lines.iter_rows():
            if line in begins:
                self._fields = _count(text)
            elif line != self._next or _count(text) != self._fields:
                continue
            else:
                yield line
            self._next = line + 1


def _count(text: str) -> int:
    """Return how many fields a line has; 0 where it is no CSV."""
    try:
        return len(next(csv.reader([text], strict=True), []))
    except csv.Error:
        return 0
