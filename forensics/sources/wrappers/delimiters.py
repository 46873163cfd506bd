"""CSV as spreadsheets write it in other countries: other delimiters, and a first line ``sep=;``.

Rows are laid out anew with commas. A decimal comma stays within its cell, and line ends
within cells become blanks: none of the values that are read has one.
"""

from __future__ import annotations

import csv
import io
import re

from forensics.sources.blocks import LONGEST_LINE, Block
from forensics.sources.jsonlines import split_lines
from forensics.sources.wrappers.inner import Inner, Inners, Whole

_STATED = re.compile(rb"sep=([;,\t|])[ \t]*\r?$")
_OTHERS = (";", "\t", "|")
_NAME = re.compile(r"[A-Za-z_][\w .:/@-]{0,127}")
_FEWEST = 3
"""Columns of a table; what has fewer is told by nothing."""


def told(head: bytes) -> bool:
    """Say whether a file begins with a header whose names are not parted by commas."""
    first, _, rest = head.partition(b"\n")
    if _STATED.match(first):
        return bool(rest.strip())
    return _delimiter(first) is not None


def _delimiter(header: bytes) -> str | None:
    text = header.decode("utf-8", "replace").strip()
    for delimiter in _OTHERS:
        names = [name.strip().strip('"') for name in text.split(delimiter)]
        if len(names) >= _FEWEST and all(map(_NAME.fullmatch, names)):
            return delimiter
    return None


class Delimited:
    """Takes rows apart; a row may span lines, and is numbered by the first of them."""

    def __init__(self) -> None:
        self._delimiter: str | None = None
        self._held: list[str] = []
        self._begun = 0
        self._quotes = 0
        self._size = 0

    def whole(self, _: Block) -> Whole | None:
        """Return None: rows are looked at one by one."""
        return None

    def take(self, block: Block) -> Inners:
        """Return the rows that end in a block."""
        found = Inners()
        if block.reason is not None:
            found.refuse(block.line, block.reason)
            return found
        for at, line in enumerate(split_lines(block.data)):
            if self._delimiter is None and self._tell(line):
                found.ignore("line that states the delimiter")
                continue
            self._line(line, block.number(at), found)
        return found

    def end(self) -> Inners:
        """Return what a row without its end leaves: nothing, and says so."""
        found = Inners()
        if self._held:
            found.refuse(self._begun, "row that is no CSV: a quote without its end")
        return found

    def _tell(self, line: bytes) -> bool:
        """Learn the delimiter; say whether a line states it and is no header."""
        stated = _STATED.match(line.rstrip(b"\n"))
        self._delimiter = stated[1].decode() if stated else _delimiter(line) or ","
        return stated is not None

    def _line(self, line: bytes, number: int, found: Inners) -> None:
        if not self._held:
            self._begun = number
        self._held.append(line.decode("utf-8", "surrogateescape"))
        self._size += len(line)
        self._quotes += line.count(b'"')
        if self._quotes % 2 == 0 or self._size > LONGEST_LINE:
            text, self._held, self._quotes, self._size = "".join(self._held), [], 0, 0
            self._row(text, found)

    def _row(self, text: str, found: Inners) -> None:
        if not text.strip():
            found.ignore("blank line")
            return
        reader = csv.reader(
            io.StringIO(text, newline=""), delimiter=self._delimiter or ",", strict=True
        )
        try:
            rows = list(reader)
        except csv.Error:
            rows = []
        if len(rows) != 1:
            found.refuse(self._begun, "row that is no CSV: a quote or a line end out of place")
            return
        laid = io.StringIO()
        csv.writer(laid, lineterminator="").writerow([re.sub(r"[\r\n]+", " ", c) for c in rows[0]])
        found.add(Inner(laid.getvalue().encode("utf-8", "surrogateescape")), self._begun)
