"""Last in, first out: freed pages go to the front of the free list. SGLang paged, not apart."""

from __future__ import annotations

from forensics.attribution.allocators import stepwise
from forensics.attribution.allocators.base import Found, Reads
from forensics.attribution.allocators.stepwise import Free, Interval
from forensics.attribution.events import Order

NAME = "lifo"
MEANING = "pages that were freed last are taken first"


def replay(order: Order, pool: int, reads: Reads) -> Found | None:
    """Return whose pages each read found, or None where the order needs more than the pool."""
    return stepwise.replay(order, pool, reads, _give_back)


def _give_back(free: Free, pages: list[Interval]) -> None:
    free.extendleft(reversed(pages))
