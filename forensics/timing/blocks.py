"""Timed requests as arrays, some at a time, and the numbers of what they are compared within."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from forensics.timing.bins import Integers
from forensics.timing.fit import Array
from forensics.timing.work import GROUP, groups_of

Group: TypeAlias = tuple[str | None, str | None, str | None, int | None]
"""Values of :data:`forensics.timing.work.GROUP`."""
Flags: TypeAlias = npt.NDArray[np.bool_]
MOST_ROWS = 2**20
"""Of so many the tokens of one block add up exactly, also as floats."""


@dataclass(frozen=True)
class Block:
    """At most :data:`MOST_ROWS` requests whose work is known.

    ``group`` holds places in ``groups``; ``row`` numbers requests through all blocks; ``over``
    says that the prompt is known to be over the limit. Tokens and milliseconds are positive.
    """

    groups: tuple[Group, ...]
    row: Integers
    group: Integers
    uncached: Integers
    cached: Integers
    ms: Array
    over: Flags

    def kept(self, wanted: Integers) -> Block:
        """Return the rows at the wanted places."""
        return Block(
            self.groups,
            self.row[wanted],
            self.group[wanted],
            self.uncached[wanted],
            self.cached[wanted],
            self.ms[wanted],
            self.over[wanted],
        )


Blocks: TypeAlias = Callable[[], Iterable[Block]]
"""Called once for each pass, it gives the same blocks each time."""


def of(rows: pl.DataFrame) -> Iterator[Block]:
    """Yield the rows of :func:`forensics.timing.work.timed` whose work is known."""
    known = rows.filter(pl.col("uncached").is_not_null())
    if not known.height:
        return
    named = groups_of(known)
    groups = tuple(named.select(GROUP).iter_rows())
    places = np.zeros(int(named["group"].max()) + 1, dtype=np.int64)  # type: ignore[arg-type]
    places[named["group"].to_numpy()] = np.arange(len(groups))
    for part in known.iter_slices(MOST_ROWS):
        row, group, uncached, cached = (
            part[name].cast(pl.Int64).to_numpy() for name in ("_row", "group", "uncached", "cached")
        )
        ms, over = part["ms"].to_numpy(), part["over"].to_numpy()
        yield Block(groups, row, places[group], uncached, cached, ms, over)


class Numbers:
    """The numbers of groups, and of the pools that they are in, through all blocks."""

    def __init__(self) -> None:
        self.groups: dict[Group, int] = {}

    def of(self, block: Block) -> Integers:
        """Return the number of each row's group; a group that is new gets the next one."""
        known = self.groups
        numbers = [known.setdefault(group, len(known)) for group in block.groups]
        return np.array(numbers, dtype=np.int64)[block.group]

    def pools(self) -> Integers:
        """Return the number of each group's pool."""
        known: dict[tuple[str | None, str | None], int] = {}
        numbers = [known.setdefault(group[:2], len(known)) for group in self.groups]
        return np.array(numbers, dtype=np.int64)
