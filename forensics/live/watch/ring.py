"""What was read of late: rows on disk, and of them those that bear on a suspicion.

Judging needs the records of a request from every hop, and those come at different times.
So rows are kept for a while, and with each record that by itself gives reason to look
closer, whatever shares an identifier with it is judged. The while is measured by the
machine's own running clock: the clocks of the logs may jump.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from forensics.columns import DTYPES, ensure
from forensics.live.watch.follow import Place
from forensics.live.watch.rows import Rows
from forensics.sources.reading import Reading, write_part

IDS = ("request_id", "prefill_request_id", "transfer_id")
_FLAGS = (
    "kv_checksum_mismatch", "metadata_collision", "late_release", "expired_release",
    "expired_read", "expired_refused", "block_overlap", "rejected",
)  # fmt: skip
_PAIRS = ("transferred_pages", "reserved_pages", "transferred_tokens", "reserved_tokens")
_COUNTS = ("prompt_tokens", "prefill_prompt_tokens", "decode_prompt_tokens")
_WORKED = ("prefill_tokens", "cached_tokens")
_OWNERS = (
    "tenant_id", "sender_tenant", "receiver_tenant", "owner_generation", "read_generation",
    "slot_owner",
)  # fmt: skip
_ASKED = (*IDS, *_FLAGS, *_COUNTS, *_PAIRS, *_WORKED, *_OWNERS, "transfer_status")
_KEPT = {name: DTYPES[name] for name in _ASKED} | {"_at": pl.Float64()}


@dataclass(frozen=True)
class Held:
    """One chunk: when it was read, its log, where it began and ended, its parts, and the rest."""

    at: float
    log: str
    begin: Place
    end: Place
    parts: tuple[Path, ...]
    reading: Reading


@dataclass
class Ring:
    """Chunks of late, and for good what tells capacities, markers and clocks."""

    capacity: list[pl.DataFrame] = field(default_factory=list)
    markers: list[pl.DataFrame] = field(default_factory=list)
    clock: Counter[tuple[str, int]] = field(default_factory=Counter)
    _held: deque[tuple[int, Held]] = field(default_factory=deque)
    _rows_of: Rows = field(default_factory=Rows)
    _old: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=_KEPT))
    _looks: int = 0

    def add(self, chunks: Sequence[Held], keep: float) -> None:
        """Keep the chunks of one look, for so many seconds."""
        if not chunks:
            return
        self._looks += 1
        for held in chunks:
            self._held.append((self._looks, held))
            self.capacity += held.reading.capacity
            self.markers += held.reading.markers
            self.clock += held.reading.clock
        parts = [(held.at, part) for held in chunks for part in held.parts]
        self._rows_of.add(self._looks, parts, max(held.at for held in chunks))
        self._rows_of.merge(keep)

    def forget(self, before: float, long_before: float, floor: int | None) -> None:
        """Let go of what was read before a time; of what gave reason to look closer, later.

        An answer can take longer than its prompt is of interest to anybody else.
        """
        look, gone = self._rows_of.drop(before)
        while look is not None and self._held and self._held[0][0] <= look:
            self._held.popleft()
        closer = [ensure(rows, _ASKED).filter(_suspicious(floor)) for rows in gone]
        if any(rows.height for rows in closer):
            self._old = pl.concat([self._old, *closer], how="diagonal_relaxed").rechunk()
        self._old = self._old.filter(pl.col("_at") >= long_before)

    def old(self) -> tuple[list[float], pl.DataFrame]:
        """Return the rows of longer ago that are still held, and when each was read."""
        return self._old["_at"].to_list(), self._old.drop("_at")

    def restore(self, times: list[float], rows: pl.DataFrame) -> None:
        """Take rows that an earlier run held, and when each was read."""
        self._old = rows.with_columns(_at=pl.Series(times, dtype=_KEPT["_at"]))

    def sizes(self) -> tuple[int, ...]:
        """Return how much is held: it grows by what is read, and shrinks by what is let go."""
        known = (len(self.capacity), len(self.markers), self.clock.total())
        return (*known, self._looks, len(self._held), self._old.height)

    def ends(self) -> list[tuple[Place, float]]:
        """Return where each chunk that is held ended, and when it was read."""
        return [(held.end, held.at) for _, held in self._held]

    def begins(self) -> dict[str, dict[tuple[int, int], Place]]:
        """Return where the oldest chunk of each file of each log began."""
        oldest: dict[str, dict[tuple[int, int], Place]] = {}
        for _, held in self._held:
            of_log = oldest.setdefault(held.log, {})
            of_log.setdefault((held.begin.device, held.begin.inode), held.begin)
        return oldest

    def suspects(self, floor: int | None) -> pl.DataFrame:
        """Return the rows that give reason to look closer, and all that share an id with them.

        Args:
            floor: prompts of so many tokens or more do; None where no limit is known.

        Returns:
            Rows of parts with ``_at``, when each was read.
        """
        rows = self._rows()
        near = rows.filter(_suspicious(floor)).select(IDS).collect()
        near = pl.concat([near, *_differing(rows), *self._marked()], how="diagonal_relaxed")
        for _ in range(
            2
        ):  # a gateway's id leads to decode's record, and that one's room to prefill's
            near = rows.select(IDS).filter(_shares(near)).collect()
        return rows.filter(_shares(near)).collect().rechunk()

    def _marked(self) -> list[pl.DataFrame]:
        """Return the answers in which a canary's marker was seen."""
        seen = [frame for frame in self.markers if "seen_request_id" in frame.columns]
        return [frame.select(request_id="seen_request_id") for frame in seen]

    def _rows(self) -> pl.LazyFrame:
        """Return all rows that are held, those of longer ago as well."""
        rows = pl.concat([*self._rows_of.scan(), self._old.lazy()], how="diagonal_relaxed")
        there = rows.collect_schema().names()
        absent = [pl.lit(None, dtype=DTYPES[n]).alias(n) for n in _ASKED if n not in there]
        return rows.with_columns(absent)

    def reading(self, rows: pl.DataFrame, part: Path) -> Reading:
        """Return a reading of some rows, as if nothing else had been read."""
        write_part(part, rows.drop("_at"))
        found = Reading(parts=[part], capacity=list(self.capacity), markers=list(self.markers))
        return replace(found, clock=Counter(self.clock))


_PREFILLED = pl.col("prefill_prompt_tokens")
_COMPUTED = pl.col("prefill_tokens") + pl.col("cached_tokens")
_WANTED = pl.max_horizontal("prompt_tokens", "decode_prompt_tokens")
_OTHERS_OWN = (
    pl.col("owner_generation") != pl.col("read_generation"),
    pl.col("read_generation").is_not_null() & pl.col("slot_owner").is_null(),
    pl.col("slot_owner") != pl.col("tenant_id"),
    pl.col("sender_tenant") != pl.col("receiver_tenant"),
)
"""A slot or a page that may be another's: reason to look, whoever is meant by its owner."""


def _differing(rows: pl.LazyFrame) -> list[pl.DataFrame]:
    """Return the ids under which the records of two hops do not fit together."""
    asked = {
        "prefilled": _PREFILLED.min(),
        "computed": _COMPUTED.min(),
        "wanted": _WANTED.max(),
        "arrived": pl.col("transferred_pages").min(),
        "reserved": pl.col("reserved_pages").max(),
        "arrived_tokens": pl.col("transferred_tokens").min(),
        "reserved_tokens": pl.col("reserved_tokens").max(),
        "sender": pl.col("sender_tenant").drop_nulls().min(),
        "receiver": pl.col("receiver_tenant").drop_nulls().min(),
    }
    differ = pl.any_horizontal(
        (pl.col(less) < pl.col(more)).fill_null(value=False)
        for less, more in (
            ("prefilled", "wanted"),
            ("computed", "wanted"),
            ("arrived", "reserved"),
            ("arrived_tokens", "reserved_tokens"),
        )
    ) | (pl.col("sender") != pl.col("receiver")).fill_null(value=False)
    found = []
    for name in ("transfer_id", "request_id"):
        by_id = rows.filter(pl.col(name).is_not_null()).group_by(name).agg(**asked)
        found.append(by_id.filter(differ).select(name).collect())
    return found


def _suspicious(floor: int | None) -> pl.Expr:
    signs = [pl.col(name).fill_null(value=False) for name in _FLAGS]
    signs += [
        (pl.col(arrived) < pl.col(reserved)).fill_null(value=False)
        for arrived, reserved in (_PAIRS[:2], _PAIRS[2:])
    ]
    signs.append(pl.col("transfer_status").is_in(["failed", "aborted"]).fill_null(value=False))
    # Prefill's placeholder, beside whatever decode says of it.
    signs += [(one == 1).fill_null(value=False) for one in (_PREFILLED, _COMPUTED)]
    signs += [sign.fill_null(value=False) for sign in _OTHERS_OWN]
    if floor is not None:
        signs.append((pl.max_horizontal(*_COUNTS) >= floor).fill_null(value=False))
    return pl.any_horizontal(signs)


def _shares(near: pl.DataFrame) -> pl.Expr:
    named = pl.concat([near[name] for name in IDS[:2]]).drop_nulls().unique()
    rooms = near["transfer_id"].drop_nulls().unique()
    return pl.any_horizontal(
        *(pl.col(name).is_in(named.implode()).fill_null(value=False) for name in IDS[:2]),
        pl.col("transfer_id").is_in(rooms.implode()).fill_null(value=False),
    )
