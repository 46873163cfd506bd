"""What was read of late: rows on disk, and of them those that are to be judged.

Judging needs the records of a request from every hop, and those come at different times.
So rows are kept for a while, and with each record that is new, whatever shares an identifier
with it is judged. The while is measured by the
machine's own running clock: the clocks of the logs may jump.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from forensics.columns import ensure
from forensics.live.watch.longer import Longer
from forensics.live.watch.rows import Rows
from forensics.live.watch.signs import ASKED, IDS, TYPES, nameless, shares, suspicious
from forensics.sources.reading import Reading, write_part

_AT_ONCE = 250_000
"""Records from which further ones are looked for at once."""
_ROUNDS = 2
"""A gateway's id leads to decode's record, and that one's room to prefill's."""
_WHERE = ("file", "line", "effective_at")


@dataclass(frozen=True)
class Held:
    """One chunk: when it was read, its parts, and the rest."""

    at: float
    parts: tuple[Path, ...]
    reading: Reading


@dataclass
class Ring:
    """Chunks of late, and for good what tells capacities, markers and clocks."""

    rows: Rows
    longer: Longer
    capacity: list[pl.DataFrame] = field(default_factory=list)
    markers: list[pl.DataFrame] = field(default_factory=list)
    clock: Counter[tuple[str, int]] = field(default_factory=Counter)
    looks: int = 0

    def add(self, chunks: Sequence[Held], keep: float) -> None:
        """Keep the chunks of one look, for so many seconds.

        Raises:
            PrivacyError: a row holds what it may not hold.
        """
        if not chunks:
            return
        self.looks += 1
        for held in chunks:
            self.capacity += held.reading.capacity
            self.markers += held.reading.markers
            self.clock += held.reading.clock
        parts = [(held.at, part) for held in chunks for part in held.parts]
        self.rows.add(parts, max(held.at for held in chunks))
        self.rows.merge(keep)

    def forget(self, before: float, long_before: float, floor: int | None) -> None:
        """Let go of what was read before a time; of what gave reason to look closer, later.

        An answer can take longer than its prompt is of interest to anybody else.
        """
        gone = self.rows.drop(before)
        closer = [ensure(rows, ASKED).filter(suspicious(floor)) for rows in gone]
        self.longer.change([rows for rows in closer if rows.height], long_before)

    def sizes(self) -> tuple[int, ...]:
        """Return how much is held: it grows by what is read, and shrinks by what is let go."""
        known = (len(self.capacity), len(self.markers), self.clock.total())
        return (*known, self.looks, len(self.rows.kept), self.longer.rows.height)

    def sweep(self) -> None:
        """Remove what no state needs any more."""
        self.rows.sweep()
        self.longer.sweep()

    def due(self, since: float) -> Iterator[pl.DataFrame]:
        """Return the rows that were read after a time, and all that belong to the same requests.

        What two hops say may differ in anything, so no record by itself is beyond doubt.

        Yields:
            Rows of parts with ``_at``, when each was read, a limited number of requests at once;
            a request whose records are many may come more than once.
        """
        rows = self._rows()
        new = rows.select("_at", *IDS).filter(pl.col("_at") > since).collect()
        if not new.height:
            return
        lone = new.filter(nameless())
        named = [new.filter(~nameless()).select(IDS), *self._marked()]
        left = pl.concat(named, how="diagonal_relaxed").unique(maintain_order=True)
        for begin in range(0, max(1, left.height), _AT_ONCE):
            near = left.slice(begin, _AT_ONCE)
            for _ in range(_ROUNDS):
                near = pl.concat([near, rows.select(IDS).filter(shares(near)).collect()]).unique()
            with_lone = nameless() if lone.height and not begin else pl.lit(value=False)
            yield rows.filter(shares(near) | with_lone).collect().rechunk()

    def told(self) -> int:
        """Return how many different things were told of pools, limits and markers."""
        said = [frame.drop(_WHERE, strict=False) for frame in self.capacity]
        pools = pl.concat(said, how="diagonal_relaxed").unique().height if said else 0
        return pools + sum(frame.height for frame in self.markers)

    def reading(self, rows: pl.DataFrame, part: Path) -> Reading:
        """Return a reading of some rows, as if nothing else had been read."""
        write_part(part, rows.drop("_at"))
        found = Reading(parts=[part], capacity=list(self.capacity), markers=list(self.markers))
        return replace(found, clock=Counter(self.clock))

    def _marked(self) -> list[pl.DataFrame]:
        """Return the answers in which a canary's marker was seen."""
        seen = [frame for frame in self.markers if "seen_request_id" in frame.columns]
        return [frame.select(request_id="seen_request_id") for frame in seen]

    def _rows(self) -> pl.LazyFrame:
        """Return all rows that are held, those of longer ago as well."""
        frames = [*self.rows.scan(), self.longer.rows.lazy()]
        rows = pl.concat(frames, how="diagonal_relaxed")
        there = rows.collect_schema().names()
        absent = [pl.lit(None, dtype=t).alias(n) for n, t in TYPES.items() if n not in there]
        return rows.with_columns(absent)
