"""Standard input as a watch reads it: what is there, up to the last whole line."""

from __future__ import annotations

import os
import select
import sys

from forensics.live.watch.generation import MOST
from forensics.live.watch.place import Chunk
from forensics.sources.blocks import LONGEST_LINE


class Piped:
    """Holds what has come and was not taken yet.

    Args:
        number: gives it its number.
    """

    def __init__(self, number: int) -> None:
        self._data = b""
        self._number, self._lines = number, 0
        self.ended = False
        """No more will come."""

    @property
    def open(self) -> bool:
        """Say whether something may have come, or come yet, that nobody will have read."""
        return bool(self._data) or not self.ended

    def read(self, *, last: bool) -> Chunk | None:
        """Return a piece of what is there, or with ``last`` of all that comes; None where none is.

        It is returned again until it is taken.
        """
        self.ended = False
        whole = b"\n" in self._data
        while not self.ended and len(self._data) < _most(whole=whole) and (last or _ready()):
            data = os.read(sys.stdin.buffer.fileno(), 1 << 20)
            self._data += data
            self.ended, whole = not data, whole or b"\n" in data
        end = self._data.rfind(b"\n") + 1
        if (last and self.ended) or (not end and len(self._data) > LONGEST_LINE):
            end = len(self._data)
        return Chunk(self._data[:end], self._number, 0, self._lines) if end else None

    def take(self, chunk: Chunk) -> None:
        """Let go of a piece that was read."""
        self._data = self._data[len(chunk.data) :]
        self._lines += chunk.data.count(b"\n")


def _most(*, whole: bool) -> int:
    return MOST if whole else LONGEST_LINE + 1


def _ready() -> bool:
    """Say whether something of standard input, or its end, is there."""
    return bool(select.select([sys.stdin.buffer], [], [], 0)[0])
