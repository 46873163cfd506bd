"""Whose pages each response found, over many possible orders of what the logs leave open."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from forensics.attribution import allocators
from forensics.attribution.allocators.base import NOBODY, Found, Reads
from forensics.attribution.holds import UNKNOWN, Holds, Ints
from forensics.attribution.orders import Orders
from forensics.attribution.stay import Stay
from forensics.runners import available_workers
from forensics.runners.pool import Pool

REPLAYS = 20
"""Orders that are drawn for each rank."""
SETTLED = 8
"""So many are enough where they name the same requests for every response of the rank, and only
moments within an answer are open: a doubt of even odds is missed once in over a hundred ranks."""
NAMED: dict[str, pl.DataType] = {
    "reader": pl.Int64(),
    "owner": pl.Int64(),
    "pages": pl.Float64(),
    "probability": pl.Float64(),
}
"""Request that read, request that wrote (null: never used since the start, or a health check),
pages on average over the replays, share of the replays that name it."""


TOGETHER = 100_000
"""Holds that are replayed at once at the most, each draw's counted by itself: for memory."""
PARALLEL_FROM = 10_000_000
"""Holds times replays from which a pool of processes pays for its start."""


@dataclass(frozen=True)
class Task:
    """What the replays of one rank need; it can be sent to another process."""

    name: str
    holds: Holds
    pool_pages: int
    allocator: str
    readers: Ints
    count: int

    @property
    def size(self) -> int:
        """Bytes, about."""
        return self.holds.row.nbytes * 8


def replay_all(stays: list[Stay], count: int = REPLAYS) -> list[pl.DataFrame]:
    """Return :data:`NAMED` for the responses of each rank; notes there what kept it from that.

    Args:
        stays: of all ranks; those with a reason against it are not replayed.
        count: replays of each.
    """
    tasks = [_task(stay, count) for stay in stays]
    asked = [task for task in tasks if task is not None]
    done = iter(_run(asked))
    found = [None if task is None else next(done) for task in tasks]
    return [_named(stay, one) for stay, one in zip(stays, found, strict=True)]


def _task(stay: Stay, count: int) -> Task | None:
    holds, readers = stay.holds, stay.readers
    if stay.reasons or stay.allocator is None or holds is None or not len(readers):
        return None
    return Task(stay.node, holds, stay.pool_pages, stay.allocator, readers, count)


def _run(tasks: list[Task]) -> list[list[Found]]:
    """Replay ranks one after the other, or at the same time where that pays."""
    work = sum(len(task.holds) * task.count for task in tasks)
    workers = min(available_workers(), len(tasks))
    if work < PARALLEL_FROM or workers < 2:
        return [drawn(task) for task in tasks]
    return Pool(workers).map(drawn, tasks, lambda _: None)


def drawn(task: Task) -> list[Found]:
    """Return what each replay of a rank finds; none where too many need more than the pool."""
    strategy = allocators.named(task.allocator)
    wanted = np.zeros(len(task.holds), dtype=np.bool_)
    wanted[task.readers] = True
    reads = Reads(wanted, task.holds.arrived)
    orders, found = Orders(task.holds, task.pool_pages), list[Found]()
    for numbers in _batches(task):
        drawn = [orders.draw(number) for number in numbers]
        feasible = [order for order in drawn if order is not None]
        every = strategy.replay_all(feasible, task.pool_pages, reads)
        found += [one for one in every if one is not None]
        if numbers.stop - len(found) > task.count // 4:
            return []
        if numbers.stop == SETTLED == len(found) and not orders.open and _agree(found):
            break
    return found


def _batches(task: Task) -> list[range]:
    """Return the numbers of the draws that are replayed together, :data:`SETTLED` or fewer."""
    size = SETTLED
    while size > 1 and size * len(task.holds) > TOGETHER:
        size //= 2
    return [range(at, min(at + size, task.count)) for at in range(0, task.count, size)]


def _agree(found: list[Found]) -> bool:
    """Say whether all replays name the same requests for every response."""
    first = found[0]
    return all(
        np.array_equal(one.reader, first.reader) and np.array_equal(one.owner, first.owner)
        for one in found[1:]
    )


def _named(stay: Stay, found: list[Found] | None) -> pl.DataFrame:
    if not found or stay.holds is None:
        if found is not None:
            stay.reasons.add("more_than_the_pool")
        return pl.DataFrame(schema=NAMED)
    stay.replays = len(found)
    return _over_all(
        _by_request(found, stay.holds, stay.rows.rename({"_row": "owner"})), len(found)
    )


def _by_request(found: list[Found], holds: Holds, same: pl.DataFrame) -> pl.DataFrame:
    """Return reader, owner and pages of each replay, by number of the request."""
    owner = np.concatenate([one.owner for one in found])
    rows = pl.DataFrame(
        {
            "replay": np.repeat(np.arange(len(found)), [len(one.owner) for one in found]),
            "reader": holds.row[np.concatenate([one.reader for one in found])],
            "owner": np.where(owner == NOBODY, UNKNOWN, holds.row[owner]),
            "pages": np.concatenate([one.pages for one in found]),
        }
    )
    rows = rows.join(same, on="owner", how="left").with_columns(owner=pl.coalesce("first", "owner"))
    return rows.group_by("replay", "reader", "owner").agg(pl.col("pages").sum())


def _over_all(found: pl.DataFrame, count: int) -> pl.DataFrame:
    owner = pl.when(pl.col("owner") != UNKNOWN).then("owner")
    # Sums of whole numbers: the same in whatever order they are added.
    summed = found.group_by("reader", owner.alias("owner")).agg(
        pl.col("pages").sum(), pl.len().alias("times")
    )
    return summed.select(
        "reader",
        "owner",
        pages=pl.col("pages") / count,
        probability=pl.col("times") / count,
    ).sort("reader", "owner", nulls_last=False)
