"""What a canary run asks, in order: fill the pages, then the lengths around each limit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

MEASURE = "measure"
"""Short prompts, from whose token counts the long ones are made."""
FILL = "fill"
EDGES = ("limit - 1", "limit", "limit + 1", "pool", "pool + 1", "context - 1")
"""Names of the lengths that tell the sides apart."""
FILL_SHARE = 0.97
"""Filling prompts stay clear of the limit, where an engine may refuse or hang."""


@dataclass(frozen=True)
class Sizes:
    """Limit (smallest prompt that is rejected), pool and window of the engine, in tokens."""

    limit: int
    pool: int
    window: int


@dataclass(frozen=True)
class Step:
    """One request of the plan: its name, its length, which account asks, streamed or not."""

    name: str
    tokens: int
    account: int
    stream: bool


def steps(sizes: Sizes, fill: int) -> Iterator[Step]:
    """Yield the requests of a run; ``fill`` prompts of each account fill the pages first."""
    for number in range(2 * fill):
        yield Step(FILL, int(sizes.limit * FILL_SHARE), number % 2, stream=False)
    for name, tokens in _edges(sizes):
        for stream in (False, True):
            for account in (0, 1):
                yield Step(name, tokens, account, stream)


def _edges(sizes: Sizes) -> list[tuple[str, int]]:
    """Return the lengths that tell the sides apart, each once, in rising order."""
    limit, pool = sizes.limit, sizes.pool
    lengths = (limit - 1, limit, limit + 1, pool, pool + 1, sizes.window - 1)
    once: dict[int, str] = {}
    for name, tokens in zip(EDGES, lengths, strict=True):
        if tokens < sizes.window:
            once.setdefault(tokens, name)
    return [(name, tokens) for tokens, name in sorted(once.items())]
