"""Strategies of page reuse: what each does, and that two ways to replay one agree."""

from random import Random
from typing import get_args, get_type_hints

import numpy as np
import pytest

from forensics import schema
from forensics.attribution.allocators import ALLOCATORS, expected, fifo, lifo, named, sorted_sweep
from forensics.attribution.allocators.base import NOBODY, Found, Reads
from forensics.attribution.events import GROW, RELEASE, RESERVE, Order
from forensics.incident import DeclaredCapacity
from forensics.lab.pages import PagePool


def order(events: list[tuple[int, int, int]], holds: int, need: int = 2) -> Order:
    """Events of kind, hold and pages, in order; everything that is reserved is written."""
    kind, hold, size = (np.array(column, dtype=np.int64) for column in zip(*events, strict=True))
    pages = np.zeros(holds, dtype=np.int64)
    pages[hold[kind == RESERVE]] = size[kind == RESERVE]
    wanted = np.where(kind == RESERVE, size - 1 + need, np.where(kind == GROW, 1, 0))
    last = np.zeros(holds, dtype=np.bool_)
    return Order(kind.astype(np.int8), hold, size, wanted, pages, last)


def readers(holds: int, *numbers: int) -> Reads:
    wanted = np.zeros(holds, dtype=np.bool_)
    wanted[list(numbers)] = True
    return Reads(wanted, np.zeros(holds, dtype=np.int64))


def owners(found: Found) -> dict[int, int]:
    return dict(zip(found.owner.tolist(), found.pages.tolist(), strict=True))


def test_the_names_are_those_of_the_schema_and_of_an_incident():
    (column,) = (c for c in schema.CAPACITY_COLUMNS if c.name == "allocator")
    assert sorted(a.name for a in ALLOCATORS) == sorted(column.codes)
    stated = get_args(get_type_hints(DeclaredCapacity)["allocator"])[0]
    assert sorted(get_args(stated)) == sorted(column.codes)
    assert all(a.meaning for a in ALLOCATORS)
    assert named("unknown").replay is None
    assert named(None).name == named("something else").name == "unknown"


@pytest.mark.parametrize(
    ("facts", "name"),
    [
        (("sglang", "0.5.19", True, 64), "sorted-sweep"),
        (("sglang", "0.4.6", True, 64), "lifo"),
        (("sglang", "0.5.19", False, 64), "lifo"),
        (("sglang", "0.5.19", False, 1), "fifo"),
        (("sglang", "0.5.19", None, 64), None),
        (("sglang", "v0.4.6.post1", True, 64), "lifo"),
        (("sglang", "0.4.5", True, 64), "lifo"),
        (("sglang", "0.4.60", True, 64), "sorted-sweep"),
        (("vllm", "0.11.0", True, 16), "fifo-tail-first"),
        (("other", None, True, 64), None),
    ],
)
def test_an_engine_tells_its_strategy(facts, name):
    keys = ("engine", "engine_version", "disaggregated", "page_tokens")
    assert expected(dict(zip(keys, facts, strict=True))) == name


# Three requests of four pages fill a pool of twelve; then one and two end, in this order.
EVENTS = [
    (RESERVE, 0, 4),
    (RESERVE, 1, 4),
    (RESERVE, 2, 4),
    (RELEASE, 1, 0),
    (RELEASE, 0, 0),
    (RESERVE, 3, 6),
]


@pytest.mark.parametrize(
    ("strategy", "read"),
    [
        (sorted_sweep.replay, {0: 4, 1: 2}),  # the lowest pages first
        (lifo.replay, {0: 4, 1: 2}),  # the last that were freed first
        (fifo.replay, {1: 4, 0: 2}),  # the first that were freed first
    ],
)
def test_whose_pages_are_read_depends_on_the_strategy(strategy, read):
    assert owners(strategy(order(EVENTS, 4), 12, readers(4, 3))) == read


@pytest.mark.parametrize("strategy", [a.replay for a in ALLOCATORS if a.replay])
def test_a_page_that_was_never_used_is_nobodys(strategy):
    events = [(RESERVE, 0, 4), (RESERVE, 1, 4)]
    assert owners(strategy(order(events, 2), 12, readers(2, 1))) == {NOBODY: 4}


@pytest.mark.parametrize("strategy", [a.replay for a in ALLOCATORS if a.replay])
def test_more_than_the_pool_cannot_be_served(strategy):
    events = [(RESERVE, 0, 8), (RESERVE, 1, 8)]
    assert strategy(order(events, 2), 12, readers(2, 1)) is None


@pytest.mark.parametrize("strategy", [a.replay for a in ALLOCATORS if a.replay])
def test_pages_that_were_not_written_keep_their_writer(strategy):
    """The reader writes one page of its six; who comes next finds the older writers."""
    events = [*EVENTS, (RELEASE, 3, 0), (RELEASE, 2, 0), (RESERVE, 4, 12)]
    given = order(events, 5)
    given.written[3] = 1
    found = owners(strategy(given, 12, readers(5, 4)))
    assert found[3] == 1
    assert sum(found.values()) == 12
    assert found[0] + found[1] == 7


def drawn(random: Random, pool: int) -> list[tuple[int, int, int]]:
    """A feasible sequence of reservations, growth and releases."""
    events, held, number, free = [], {}, 0, pool
    for _ in range(400):
        draw = random.random()
        if draw < 0.45 and free > 12:
            size = random.randint(1, 9)
            held[number], free = size, free - size
            events.append((RESERVE, number, size))
            number += 1
        elif draw < 0.75 and held and free > 2:
            grower = random.choice(sorted(held))
            held[grower], free = held[grower] + 1, free - 1
            events.append((GROW, grower, 1))
        elif held:
            ended = random.choice(sorted(held))
            free += held.pop(ended)
            events.append((RELEASE, ended, 0))
    return events


@pytest.mark.parametrize("seed", range(6))
def test_cutting_whole_sweeps_is_as_taking_page_by_page(seed):
    """Against the pool of the laboratory, which takes page by page and knows nothing of this."""
    random, pool = Random(seed), 90
    events = drawn(random, pool)
    holds = max(hold for _, hold, _ in events) + 1
    reading = sorted(random.sample(range(holds), holds // 4))
    given = order(events, holds)
    pages, held, true = PagePool(pool), {}, {}
    for kind, hold, size in events:
        if kind == RELEASE:
            pages.give_back(held.pop(hold))
            continue
        # The prompt that needs as many pages, and as much of the free list, as the event says.
        taken = pages.take_prompt(size - 1, 1, size) if kind == RESERVE else [pages.take_step(1)]
        held.setdefault(hold, []).extend(taken)
        if kind == RESERVE and hold in reading:
            for page in taken:
                key = (hold, pages.writer[page])
                true[key] = true.get(key, 0) + 1
        pages.write(taken, hold)
    assert pages.merges > 5
    found = sorted_sweep.replay(given, pool, readers(holds, *reading))
    rows = zip(found.reader.tolist(), found.owner.tolist(), found.pages.tolist(), strict=True)
    assert {(reader, owner): count for reader, owner, count in rows} == true


@pytest.mark.parametrize("strategy", [a for a in ALLOCATORS if a.replay], ids=lambda a: a.name)
def test_many_orders_at_once_name_whom_each_names_alone(strategy):
    """Of the same holds; one order in the midst needs more than the pool."""
    pool, holds, reads = 60, 200, readers(200, *range(0, 200, 3))
    many = [order(drawn(Random(seed), size), holds) for seed, size in enumerate((60, 55, 70, 60))]
    found = strategy.replay_all(many, pool, reads)
    assert [one is None for one in found] == [False, False, True, False]
    for given, one in zip(many, found, strict=True):
        alone = strategy.replay(given, pool, reads)
        columns = ("reader", "owner", "pages")
        both = [[getattr(some, name).tolist() for name in columns] for some in (one, alone) if some]
        assert both == both[::-1]
        assert all(any(columns) for columns in both)
