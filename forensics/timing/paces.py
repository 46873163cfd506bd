"""Which nodes ran at another pace for a while, as a whole, and were judged apart then."""

from __future__ import annotations

import numpy as np
import polars as pl

from forensics.timing.bins import Integers
from forensics.timing.blocks import Block, Flags, Numbers, Part

_MINUTE = 60_000_000
PACES: dict[str, pl.DataType] = {
    **dict.fromkeys(("source", "node"), pl.String()),
    **dict.fromkeys(("side", "first_at", "last_at", "requests"), pl.Int64()),
}


class Paces:
    """The times and requests of each part that is within a span.

    Args:
        numbers: of the parts.
    """

    def __init__(self, numbers: Numbers) -> None:
        self._numbers = numbers
        self._found: dict[Part, tuple[int, int, int]] = {}

    def add(self, block: Block) -> Flags:
        """Count the rows of a block; return which of them are within a span."""
        if not self._numbers.layers:
            return np.zeros(len(block.row), dtype=np.bool_)
        place = self._numbers.of(block)
        shifted = {at: part for part, at in self._numbers.parts.items() if part.spans}
        for at, part in shifted.items():
            self._count(part, block.minute[place == at])
        return np.isin(place, list(shifted))

    def _count(self, part: Part, minute: Integers) -> None:
        if len(minute):
            first, last, requests = self._found.get(part, (int(minute[0]), 0, 0))
            first, last = min(first, int(minute.min())), max(last, int(minute.max()))
            self._found[part] = (first, last, requests + len(minute))

    def table(self) -> pl.DataFrame:
        """Return a row for each: ``side`` is -1 where it was faster, 1 where slower."""
        found = [
            (part.group[0], part.group[2], part.spans[-1].side, first, last, requests)
            for part, (first, last, requests) in self._found.items()
        ]
        table = pl.DataFrame(found, schema=PACES, orient="row").sort(*PACES)
        return table.with_columns(pl.col("first_at", "last_at") * _MINUTE)
