"""One request under way: what it was asked, what has left for the client so far."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from forensics.lab.engine.journal import now
from forensics.lab.engine.requests import Answer, Ask
from forensics.lab.records import Handoff

Emit = Callable[[str], Awaitable[None]]


@dataclass
class Work:
    """One request under way; ``emit`` is None where the answer is sent as a whole."""

    ask: Ask
    handoff: Handoff
    emit: Emit | None = None
    said: list[str] = field(default_factory=list)

    async def word(self, word: str) -> None:
        """Keep a generated word, and hand it to the client of a stream."""
        if self.handoff.first_token_at is None:
            self.handoff.first_token_at = now()
        self.said.append(word)
        if self.emit is None:
            return
        try:
            await self.emit(word)
        except ConnectionError:
            self.said.pop()
            raise asyncio.CancelledError from None

    @property
    def streaming(self) -> bool:
        """Words have left already, under a status of 200."""
        return self.emit is not None and bool(self.said)

    def answer(self, status: int, error: str | None = None, reason: str = "stop") -> Answer:
        """Return the answer as the client has it: only what really left is in it."""
        left = tuple(self.said) if status == 200 or self.emit is not None else ()
        rid = self.handoff.intent.request_id
        return Answer(rid, status, len(self.ask.words), left, error, reason)
