"""CSV as spreadsheets write it in other countries: other delimiters, and a first line ``sep=;``.

Rows are laid out anew with commas. A decimal comma stays within its cell, and line ends
within cells become blanks: none of the values that are read has one.
"""

from __future__ import annotations

import csv
import io
import re

from forensics.sources.wrappers.inner import Inner, Inners
from forensics.sources.wrappers.rows import QuotedRows

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


class Delimited(QuotedRows):
    """Lays rows of any delimiter out as rows of commas."""

    _errors = "surrogateescape"

    def __init__(self) -> None:
        super().__init__()
        self._delimiter: str | None = None

    def _aside(self, line: bytes, found: Inners) -> bool:
        if self._delimiter is not None or not self._tell(line):
            return False
        found.ignore("line that states the delimiter")
        return True

    def _tell(self, line: bytes) -> bool:
        """Learn the delimiter; say whether a line states it and is no header."""
        stated = _STATED.match(line.rstrip(b"\n"))
        self._delimiter = stated[1].decode() if stated else _delimiter(line) or ","
        return stated is not None

    def _row(self, text: str, found: Inners) -> None:
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
