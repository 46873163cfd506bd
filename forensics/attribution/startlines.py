"""What engines say as they start: which of it shows a start, and which may be of one or of two.

A start line, and a process that says when it began, show that a pool was empty. Whoever starts a
second engine by mistake writes a start line too, and a pool, before it finds its port taken, and
the first runs on: where a server's log has what a start ends with, for other starts and not for
this one, it may be none. So may a second pool or a second ready line that stands alone: one start
may write it twice.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

import polars as pl

from forensics import schema
from forensics.attribution.anywhere import START_OFF
from forensics.attribution.silences import LOADING
from forensics.bootstarts import BEGAN
from forensics.capacity import server_of
from forensics.clock import Clocks

_POOLS = ("server_pool", "rank_pool")
Said = tuple[str, int]


@dataclass(frozen=True)
class StartLines:
    """Server and moment of what engines said as they started.

    ``begun`` show a start, and what was ``printed`` does where nothing was known before. ``apart``
    are moments at which a process began of which no log has a start line. ``loaded`` says when one
    that began had a pool, or was ready. ``stray`` are lines of a start that nothing bears out.
    """

    begun: frozenset[Said] = frozenset()
    printed: frozenset[Said] = frozenset()
    apart: dict[str, list[int]] = field(default_factory=dict)
    loaded: dict[Said, int] = field(default_factory=dict)
    stray: frozenset[Said] = frozenset()

    def shows(self, server: str, at: int, *, first: bool) -> bool:
        """Say whether a start is shown; ``first`` says that nothing of the server is older."""
        said = (server, at)
        return said in self.begun or (first and said in self.printed)


def read(facts: list[pl.DataFrame], clocks: Clocks) -> StartLines:
    """Return what engines said as they started.

    Args:
        facts: capacity facts as they were read.
        clocks: zone of each node's wall clock.
    """
    wanted = {
        **schema.dtypes((*schema.CAPACITY_COLUMNS, schema.CAPACITY_EVENT)),
        **schema.ORIGIN,
    }
    frame = pl.concat([pl.DataFrame(schema=wanted), *facts], how="diagonal_relaxed")
    asked = frame.filter(pl.col("event").is_in(["start", BEGAN, "ready", *_POOLS]))
    told = clocks.resolve(asked, ["effective_at"]).select("source_node", "effective_at", "event")
    servers: dict[str, dict[str, set[int]]] = {}
    for node, at, event in told.drop_nulls().unique().iter_rows():
        kind = "pool" if event in _POOLS else event
        servers.setdefault(server_of(node), {}).setdefault(kind, set()).add(at)
    every = [_of_server(server, said) for server, said in sorted(servers.items())]
    return StartLines(
        frozenset().union(*(one.begun for one in every)),
        frozenset().union(*(one.printed for one in every)),
        {server: at for one in every for server, at in one.apart.items()},
        {said: at for one in every for said, at in one.loaded.items()},
        frozenset().union(*(one.stray for one in every)),
    )


def _of_server(server: str, said: dict[str, set[int]]) -> StartLines:
    lines, pools, ready = (sorted(said.get(kind, ())) for kind in ("start", "pool", "ready"))
    began = said.get(BEGAN, set())
    whole = dict(_followed(lines, ready or pools, lines)) or lines
    lost = dict(_followed(pools, ready, [*lines, *ready]))
    alone = sorted(at for at in began if not _has_line(at, lines))
    shown = frozenset((server, at) for at in (*whole, *lost, *began))
    return StartLines(
        shown,
        frozenset((server, at) for at in (*pools, *ready)),
        {server: alone} if alone else {},
        {(server, at): loaded for at, loaded in _followed(lines, sorted({*pools, *ready}), lines)},
        frozenset((server, at) for at in (*lines, *pools, *ready)) - shown,
    )


def _followed(lines: list[int], by: list[int], apart: list[int]) -> Iterator[tuple[int, int]]:
    """Yield the lines that one of some others comes after, before the next that parts starts.

    Each with the first that comes after it.
    """
    parting = sorted(apart)
    for at in lines:
        place, end = bisect_left(by, at), bisect_right(parting, at)
        if place < len(by) and (end == len(parting) or by[place] <= parting[end]):
            yield at, by[place]


def _has_line(began: int, lines: list[int]) -> bool:
    """Say whether a start line was written as a process began, or while it loaded."""
    place = bisect_left(lines, began - START_OFF)
    return place < len(lines) and lines[place] <= began + LOADING
