"""First in, first out: freed pages go to the end of the free list.

SGLang with pages of one token gives the pages of a request back in order, vLLM its last page
first, so that the head of a prompt is kept longest.
"""

from __future__ import annotations

from forensics.attribution.allocators import stepwise
from forensics.attribution.allocators.base import Found, Reads
from forensics.attribution.allocators.stepwise import Free, Interval
from forensics.attribution.events import Order

NAME = "fifo"
MEANING = "pages that were freed first are taken first"
TAIL_FIRST = "fifo-tail-first"
TAIL_FIRST_MEANING = f"{MEANING}; of one request the last page is freed first"


def replay(order: Order, pool: int, reads: Reads) -> Found | None:
    """Return whose pages each read found, or None where the order needs more than the pool."""
    return stepwise.replay(order, pool, reads, _give_back)


def _give_back(free: Free, pages: list[Interval]) -> None:
    free.extend(pages)


def replay_tail_first(order: Order, pool: int, reads: Reads) -> Found | None:
    """Return the same where a request gives its last page back first."""
    return stepwise.replay(order, pool, reads, _give_back_tail_first)


def _give_back_tail_first(free: Free, pages: list[Interval]) -> None:
    # All pages of an interval have one writer, so that their order within it names nobody else.
    free.extend(reversed(pages))
