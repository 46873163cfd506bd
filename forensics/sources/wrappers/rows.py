"""Rows of a table with a header, taken apart by quotes: one may span lines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from forensics.sources.blocks import LONGEST_LINE, Block
from forensics.sources.jsonlines import split_lines
from forensics.sources.wrappers.inner import Inners, Whole


class QuotedRows(ABC):
    """Takes rows apart; each is numbered by the first of its lines, ``_begun``."""

    _errors: ClassVar[str] = "replace"
    """What becomes of bytes that are no UTF-8."""

    def __init__(self) -> None:
        self._held: list[str] = []
        self._begun = 0
        self._quotes = 0
        self._size = 0

    def whole(self, _: Block) -> Whole | None:
        """Return None: rows are looked at one by one."""
        return None

    def take(self, block: Block) -> Inners:
        """Return what the rows that end in a block hold."""
        found = Inners()
        if block.reason is not None:
            found.refuse(block.line, block.reason)
            return found
        for at, line in enumerate(split_lines(block.data)):
            if not self._aside(line, found):
                self._line(line, block.number(at), found)
        return found

    def end(self) -> Inners:
        """Return what a row without its end leaves: nothing, and says so."""
        found = Inners()
        if self._held:
            found.refuse(self._begun, "row that is no CSV: a quote without its end")
        return found

    def _aside(self, line: bytes, found: Inners) -> bool:  # noqa: ARG002 -- for those that have such
        """Say whether a line is of no row, after counting it."""
        return False

    def _line(self, line: bytes, number: int, found: Inners) -> None:
        if not self._held:
            self._begun = number
        self._held.append(line.decode("utf-8", self._errors))
        self._size += len(line)
        self._quotes += line.count(b'"')
        if self._quotes % 2 == 0 or self._size > LONGEST_LINE:
            text, self._held, self._quotes, self._size = "".join(self._held), [], 0, 0
            if text.strip():
                self._row(text, found)
            else:
                found.ignore("blank line")

    @abstractmethod
    def _row(self, text: str, found: Inners) -> None:
        """Add what one row holds."""
