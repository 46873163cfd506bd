"""First in, first out: freed pages go to the end. SGLang with pages of one token, vLLM."""

from __future__ import annotations

from forensics.attribution.allocators import stepwise
from forensics.attribution.allocators.base import Found, Reads
from forensics.attribution.allocators.stepwise import Free, Interval
from forensics.attribution.orders import Order

NAME = "fifo"
MEANING = "pages that were freed first are taken first"


def replay(order: Order, pool: int, reads: Reads) -> Found | None:
    """Return whose pages each read found, or None where the order needs more than the pool."""
    return stepwise.replay(order, pool, reads, _give_back)


def _give_back(free: Free, pages: list[Interval]) -> None:
    free.extend(pages)
