"""No hidden number can be computed from all summaries together, whoever knows the rules."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from forensics.notices.published import NEVER, Published, Summary
from forensics.notices.suppression import K, Numbers, hidden, shown

NAMES = ("confirmed", "probable", "possible", "not_assessable")


def numbers(cells: Iterable[int], more: Iterable[int] = (), unknown: int = 0) -> Numbers:
    """Numbers of some tiers; each tenant has one request, and ``more`` are on top."""
    tenants = dict(zip(NAMES, cells, strict=False))
    extra = dict(zip(NAMES, more, strict=False))
    requests = {name: held + extra.get(name, 0) * (held > 0) for name, held in tenants.items()}
    every = sum(requests.values()) + unknown
    return Numbers(tenants, requests, unknown, every, every)


@dataclass(frozen=True)
class Seen:
    """What a reader is shown of one revision, and what is known from then on."""

    shown: tuple[Summary, bool, bool]
    known: Published

    @classmethod
    def of(cls, now: Numbers, before: Published, k: int = K) -> "Seen":
        told = shown(now, len(before.summaries) + 1, before, k)
        few = sum(now.cells.values()) < k, now.unknown < k  # what a summary says besides
        return cls((told, *few), Published((*before.summaries, told)))


def secrets(now: Numbers, before: Published, k: int = K) -> dict[str, int]:
    """The numbers that are not shown, but for what is not there."""
    told = shown(now, 1, before, k)
    every = {f"tenants {name}": held for name, held in now.cells.items() if name not in told.cells}
    every |= {
        f"requests {name}": n for name, n in now.requests.items() if name not in told.requests
    }
    if told.total is None:
        every["total"] = sum(now.cells.values())
    if told.all_requests is None:
        every["all"] = sum(now.requests.values())
    if told.unknown is None:
        every["unknown"] = now.unknown
    return {name: value for name, value in every.items() if value}


def computed(several: Iterable[Numbers], before: Published, k: int) -> Iterator[str]:
    """The revisions that look the same, as far as a hidden number is the same in all of them."""
    looks = defaultdict(list)
    for now in several:
        looks[repr(Seen.of(now, before, k).shown)].append(now)
    for same in looks.values():
        values = [secrets(now, before, k) for now in same]
        for name in values[0]:
            if len({found.get(name) for found in values}) == 1:
                yield f"{name} = {values[0][name]} in {same[0]} after {before}"


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ([(15, 20)], (5, 20)),  # all that fits a total of 25, where nothing moved by a few
        ([(1, 1, 0)], (1, 1, 10)),
        ([(15, 20), (30, 40)], (5, 40)),
    ],
)
def test_no_total_beside_a_hidden_tier_that_was_shown(before, now):
    known = NEVER
    for then in before:
        known = Seen.of(numbers(then), known).known
    away, total = hidden(numbers(now).cells, before=known)
    assert away
    assert not total


def test_a_number_is_held_against_all_that_was_ever_shown():
    known = Seen.of(numbers([15, 30]), NEVER).known
    known = Seen.of(numbers([40, 30]), known).known
    assert hidden(numbers([17, 90]).cells, before=known)[0]
    assert not hidden(numbers([27, 90]).cells, before=known)[0]


def test_a_total_that_moved_though_no_cell_did_hides_the_cells():
    first = shown(numbers([12, 20]), 1, NEVER)
    before = Published((msgspec.structs.replace(first, total=30),))
    assert hidden(numbers([12, 20]).cells, before=before) == (set(NAMES[:2]), False)


FEW = 4
"""Fewest that are shown: two tiers of fewer tenants together leave more than one number each."""


def all_of(highest: int) -> list[Numbers]:
    return [numbers(one) for one in product(range(highest + 1), repeat=2)]


def known_after(several: Iterable[Numbers], before: Published = NEVER) -> list[Published]:
    """What can be known after one more revision, each once."""
    seen = (Seen.of(now, before, FEW) for now in several)
    return list({repr(one.shown): one.known for one in seen}.values())


def test_nothing_hidden_can_be_computed_after_any_one_revision():
    later = all_of(9)
    known = known_after(all_of(5))
    assert not [one for before in known for one in computed(later, before, FEW)]


@pytest.mark.long
def test_nothing_hidden_can_be_computed_after_any_two_revisions():
    later = all_of(15)
    first = known_after(all_of(6))
    second = [one for before in first for one in known_after(all_of(9), before)]
    assert not [one for before in second for one in computed(later, before, FEW)]


@pytest.mark.long
def test_nothing_hidden_can_be_computed_of_tenants_and_their_requests():
    def several(highest: int, most: int) -> list[Numbers]:
        cells = product(range(highest + 1), repeat=2)
        return [numbers(one, more) for one in cells for more in product(range(most), repeat=2)]

    then, later = several(6, 2), several(10, 7)
    assert not [one for before in known_after(then) for one in computed(later, before, FEW)]


def near(now: Numbers) -> Iterator[Numbers]:
    """Numbers of which one or two tiers hold a few more or fewer, and so their requests."""
    steps = [step for by in (1, 2, 5, K - 1) for step in (by, -by)]
    for name, other, step in product(now.cells, (None, *now.cells), steps):
        move = {name: step, **({other: -step} if other not in (None, name) else {})}
        for tenants, requests in ((move, move), ({}, move), ({}, {name: step}), (move, {})):
            yield msgspec.structs.replace(
                now,
                cells={tier: held + tenants.get(tier, 0) for tier, held in now.cells.items()},
                requests={tier: n + requests.get(tier, 0) for tier, n in now.requests.items()},
            )
    for step in steps:
        yield msgspec.structs.replace(now, unknown=now.unknown + step)


def possible(now: Numbers) -> bool:
    """Every tenant has a request, and nobody else has one."""
    held = [(now.cells[name], now.requests[name]) for name in now.cells]
    return now.unknown >= 0 and all(n >= of if of > 0 else of == n == 0 for of, n in held)


@st.composite
def chains(draw: st.DrawFn) -> list[Numbers]:
    """A few revisions that differ by few or many, and around the number of what is few."""
    cells = st.one_of(st.integers(0, 12), st.sampled_from([0, 15, 20, 25, 30, 40]))
    tiers = st.lists(cells, min_size=4, max_size=4)
    more = st.lists(st.integers(0, 15), min_size=4, max_size=4)
    one = st.builds(numbers, tiers, more, st.integers(0, 30))
    return draw(st.lists(one, min_size=1, max_size=3))


AS_MANY = [numbers([0, 0, 1, 15], [0] * 4, 0), numbers([0, 1, 15, 0], [0, 0, 1, 0], 0)]
"""Tenants in all as before, hidden, and a request more."""


@settings(max_examples=10, deadline=None)
@given(chains())
@example(AS_MANY)
def test_every_hidden_number_has_another_that_fits_all_that_was_published(chain):
    before = NEVER
    for now in chain:
        seen, open_numbers = Seen.of(now, before), secrets(now, before)
        for other in near(now):
            if not open_numbers:
                break
            if possible(other) and Seen.of(other, before).shown == seen.shown:
                found = secrets(other, before)
                open_numbers = {n: v for n, v in open_numbers.items() if found.get(n) == v}
        assert not open_numbers
        before = seen.known
