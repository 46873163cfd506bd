"""Which numbers of a public summary are shown, so that none of a few customers can be computed.

Whoever reads summaries knows these rules and everything that was ever shown. So what is hidden
has to have more than one value that fits all of it. This holds since a decision depends on
what was shown and on the new numbers alone, and hides enough of these:

* Tiers are shown together, or none but the empty ones: no cell is chosen by its size. They are
  hidden where one has fewer than ``K`` tenants, or where one, or the total, differs by fewer
  than ``K`` from any value that was shown of it.
* Beside hidden tiers the total is shown where it is at least ``K``, did not move by a few, and
  no hidden tier was ever shown. A tier that was shown cannot have moved by a few where the
  total is told, which would leave too few values for what adds up to it.
* Requests are hidden with their tenants, and all of them where some of the very same number of
  tenants moved by a few. Where the tenants moved as well they tell of no few. Of tenants that
  are hidden nothing is asked here: that requests are hidden would tell that they did not move.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct

from forensics.notices.published import NEVER, Published, Summary

K: Final = 10


class Numbers(Struct, frozen=True):
    """All numbers of a summary as they are."""

    cells: dict[str, int]
    """Tenants by tier; they add up to the total."""
    requests: dict[str, int]
    unknown: int
    """Requests without a tenant."""
    low: int
    """Fewest affected responses."""
    high: int | None
    """Most; None where nobody can say."""


def shown(numbers: Numbers, revision: int, before: Published, k: int = K) -> Summary:
    """Return what is shown of the numbers of a revision.

    Args:
        numbers: all of them.
        revision: of the report.
        before: what was ever shown of it.
        k: fewest tenants that a shown cell holds.
    """
    away, total = hidden(numbers.cells, k, before)
    tiers = [name for name in numbers.cells if name not in away]
    still = not any(_moved_since(one, numbers, tiers, k, total=total) for one in before.summaries)
    known = _may_show(numbers.unknown, before.of("unknown"), k)
    bound = total and still and known and not away and _bound_still(numbers, before, k)
    return Summary(
        revision,
        {name: numbers.cells[name] for name in tiers},
        sum(numbers.cells.values()) if total else None,
        {name: numbers.requests[name] for name in tiers} if still else {},
        sum(numbers.requests.values()) if total and still else None,
        numbers.unknown if known else None,
        numbers.low if bound else None,
        numbers.high if bound else None,
    )


def hidden(
    cells: Mapping[str, int], k: int = K, before: Published = NEVER
) -> tuple[frozenset[str], bool]:
    """Return the cells that are not shown, and whether their total may be shown."""
    total = sum(cells.values())
    moved = _near(total, before.of("total"), k) or any(
        _near(number, before.cell(name), k) for name, number in cells.items()
    )
    if not moved and not any(0 < number < k for number in cells.values()):
        return frozenset(), True
    away = frozenset(name for name, number in cells.items() if number)
    seen = any(before.cell(name) for name in away)
    return away, total >= k and not moved and not seen


def _near(now: int, before: Iterable[int], k: int) -> bool:
    """Say whether a number differs from one that was shown, and by fewer than ``k``."""
    return any(0 < abs(now - one) < k for one in before)


def _may_show(number: int, before: Iterable[int], k: int) -> bool:
    return not 0 < number < k and not _near(number, before, k)


def _moved_since(
    then: Summary, numbers: Numbers, tiers: Iterable[str], k: int, *, total: bool
) -> bool:
    """Say whether as many tenants as then, of those that are shown, have a few requests moved."""
    one = (
        numbers.cells[name] == then.cells.get(name)
        and _near(numbers.requests[name], [then.requests[name]], k)
        for name in tiers
        if name in then.requests
    )
    same = total and sum(numbers.cells.values()) == then.total and then.all_requests is not None
    every = sum(numbers.requests.values())
    return any(one) or (same and _near(every, [then.all_requests or 0], k))


def _bound_still(numbers: Numbers, before: Published, k: int) -> bool:
    if _near(numbers.low, before.of("low"), k):
        return False
    return numbers.high is None or not _near(numbers.high, before.of("high"), k)
