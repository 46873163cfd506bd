"""Holding pages of a memory: wait until they fit, give them back whatever happens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from forensics.lab.engine.memory import Memory


@dataclass
class Held:
    """The pages of one request, and the memory they are in."""

    memory: Memory
    pages: list[int]
    tokens: int
    growth: int
    """Pages that it may still grow by."""
    arriving: asyncio.Future[Any] | None = None
    """A transfer that may still write into the pages, or read from them."""


class Reserve:
    """One side's memory; a hold never outlives the memory it is in."""

    def __init__(self, pool_tokens: int, page_tokens: int, *, clear: bool) -> None:
        self._make: Callable[[], Memory] = partial(Memory, pool_tokens, page_tokens, clear=clear)
        self._page = page_tokens
        self._room = asyncio.Condition()
        self._promised = 0
        self._late: set[asyncio.Future[None]] = set()
        self.memory = self._make()

    def restart(self) -> None:
        """Start with an empty memory: everything in flight is lost."""
        self.memory, self._promised = self._make(), 0

    def lost(self, held: Held) -> bool:
        """Whether the side restarted since the pages were taken."""
        return held.memory is not self.memory

    @asynccontextmanager
    async def hold(self, tokens: int, growth: int = 0) -> AsyncIterator[Held]:
        """Hold the pages of ``tokens`` as soon as they, and ``growth`` more tokens, fit."""
        more = -(-(tokens + growth) // self._page) - -(-tokens // self._page)
        async with self._room:
            await self._room.wait_for(lambda: self._fits(tokens, more))
            held = Held(self.memory, self.memory.take(tokens), tokens, more)
            self._promised += more
        try:
            yield held
        finally:
            releasing = self._give_back(held)
            if held.arriving is None or held.arriving.done():
                await asyncio.shield(releasing)

    def write(self, held: Held, at: int, token: str) -> None:
        """Write one token; take a page more where the last one is full."""
        if at // self._page >= len(held.pages):
            held.memory.grow(held.pages)
            held.growth -= 1
            self._promised -= 1
        held.memory.write(held.pages, at, token)

    def _fits(self, tokens: int, growth: int) -> bool:
        return -(-tokens // self._page) + growth + self._promised <= self.memory.available

    def _give_back(self, held: Held) -> asyncio.Future[None]:
        """Release pages, whoever waits for it: at once, or when nothing can reach them."""
        releasing = asyncio.ensure_future(self._release(held))
        self._late.add(releasing)
        releasing.add_done_callback(self._late.discard)
        return releasing

    async def _release(self, held: Held) -> None:
        if held.arriving is not None:
            await asyncio.wait({held.arriving})
        async with self._room:
            if not self.lost(held):
                held.memory.give_back(held.pages)
                self._promised -= held.growth
            self._room.notify_all()
