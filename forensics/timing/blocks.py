"""Timed requests as arrays, some at a time, and the numbers of what they are compared within."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from forensics.timing.bins import Integers
from forensics.timing.fit import Array
from forensics.timing.work import GROUP, groups_of

Group: TypeAlias = tuple[str | None, str | None, str | None, int | None]
"""Values of :data:`forensics.timing.work.GROUP`."""


class Span(NamedTuple):
    """Minutes in which a node was faster (``side`` -1) or slower (1); None stands for no end."""

    side: int
    first: int | None
    last: int | None


class Part(NamedTuple):
    """What times are compared within: a group, or the part of it that is within some spans."""

    group: Group
    spans: tuple[Span, ...] = ()

    @property
    def pool(self) -> tuple[str | int | None, ...]:
        """What it borrows from: source, model, and parts that shifted to the same sides."""
        return (*self.group[:2], *(span.side for span in self.spans))


Flags: TypeAlias = npt.NDArray[np.bool_]
_MINUTE = 60_000_000
MOST_ROWS = 2**20
"""Of so many the tokens of one block add up exactly, also as floats."""


@dataclass(frozen=True)
class Block:
    """At most :data:`MOST_ROWS` requests whose work is known.

    ``group`` holds places in ``groups``; ``row`` numbers requests through all blocks; ``over``
    says that the prompt is known to be over the limit, ``below`` that it is known to be below it.
    Tokens and milliseconds are positive. ``told`` gives the :attr:`minute` of each row, and is
    asked once, if any pass needs them.
    """

    groups: tuple[Group, ...]
    row: Integers
    group: Integers
    uncached: Integers
    cached: Integers
    ms: Array
    over: Flags
    below: Flags
    told: Callable[[], Integers]

    @cached_property
    def minute(self) -> Integers:
        """Minutes since 1970, -1 where the time is not known."""
        return self.told()

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
            self.below[wanted],
            lambda: self.minute[wanted],
        )


Spans: TypeAlias = dict[Part, tuple[Span, ...]]
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
        ms, over, below = (part[name].to_numpy() for name in ("ms", "over", "below"))
        told = partial(minutes, part["received_at"])
        yield Block(groups, row, places[group], uncached, cached, ms, over, below, told)


def minutes(received_at: pl.Series) -> Integers:
    """Return the minutes since 1970 of some times in microseconds, -1 for those not known."""
    found: Integers = (received_at // _MINUTE).fill_null(-1).to_numpy()
    return found


class Numbers:
    """The numbers of parts, and of the pools that they are in, through all blocks.

    Args:
        layers: spans of parts, each layer of those that the layers before it left.
    """

    def __init__(self, layers: tuple[Spans, ...] = ()) -> None:
        self.layers = layers
        self.parts: dict[Part, int] = {}

    def of(self, block: Block) -> Integers:
        """Return the number of each row's part; a part that is new gets the next one."""
        parts, place = [Part(group) for group in block.groups], block.group
        for layer in self.layers:
            parts, place = _split(parts, place, block.minute, layer)
        known = self.parts
        numbers = [known.setdefault(part, len(known)) for part in parts]
        return np.array(numbers, dtype=np.int64)[place]

    def pools(self) -> Integers:
        """Return the number of each part's pool."""
        known: dict[tuple[str | int | None, ...], int] = {}
        numbers = [known.setdefault(part.pool, len(known)) for part in self.parts]
        return np.array(numbers, dtype=np.int64)


def _split(
    parts: list[Part], place: Integers, minute: Integers, layer: Spans
) -> tuple[list[Part], Integers]:
    """Move the rows within spans to parts of their own."""
    parts, moved = list(parts), place.copy()
    for number, part in enumerate(tuple(parts)):
        own = np.flatnonzero(place == number) if part in layer else place[:0]
        for span in layer.get(part, ()):
            moved[own[within(minute[own], span)]] = len(parts)
            parts.append(Part(part.group, (*part.spans, span)))
    return parts, moved


def within(minute: Integers, span: Span) -> Flags:
    """Say which minutes are within a span."""
    found: Flags = minute >= (0 if span.first is None else span.first)
    return found if span.last is None else found & (minute <= span.last)
