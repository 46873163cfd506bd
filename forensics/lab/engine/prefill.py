"""The prefill side: its limit, the fault, and the forward pass that writes rows."""

from __future__ import annotations

import asyncio

from forensics.lab import sglanglines as text
from forensics.lab.clock import MILLISECOND
from forensics.lab.engine.journal import PREFILL, Journal, now
from forensics.lab.engine.options import EngineOptions
from forensics.lab.engine.reserve import Held, Reserve
from forensics.lab.engine.words import PLACEHOLDER
from forensics.lab.records import Handoff


class RefusedError(Exception):
    """The prompt is too long; the message is the engine's own."""


class Prefill:
    """Computes one prompt at a time and keeps nothing of it but what pages still hold."""

    def __init__(self, options: EngineOptions, journal: Journal) -> None:
        self._options, self._journal = options, journal
        self._turn = asyncio.Lock()
        self.reserve = Reserve(
            options.prefill_pool_tokens, options.page_tokens, clear=options.clear_pages
        )

    def admit(self, handoff: Handoff, words: tuple[str, ...]) -> tuple[str, ...]:
        """Return the tokens that will be computed for a prompt.

        Raises:
            RefusedError: it is over the limit, and rejected requests are retired.
        """
        limit = self._options.prefill_limit
        handoff.prefill_prompt_tokens = len(words)
        if len(words) < limit:
            return words
        if self._options.auto_truncate:
            self._journal.say(PREFILL, text.truncated(len(words), limit), rank=" TP0")
            handoff.prefill_prompt_tokens = limit - 1
            return words[: limit - 1]
        handoff.prefill_rejected = True
        self._journal.say(PREFILL, text.exceeds(len(words), limit, handoff.prefill_id), " TP0")
        if self._options.retire_rejected or not self._options.fault:
            raise RefusedError(text.too_long(len(words), limit))
        handoff.placeholder, handoff.prefill_prompt_tokens = True, 1
        return (PLACEHOLDER,)

    async def forward(self, handoff: Handoff, held: Held, tokens: tuple[str, ...]) -> None:
        """Compute a prompt: write its rows into the pages held."""
        async with self._turn:
            began = now()
            for at, token in enumerate(tokens):
                self.reserve.write(held, at, token)
            await asyncio.sleep(self._options.step_seconds)
        handoff.prefill_tokens = len(tokens)
        handoff.forward = max(MILLISECOND, now() - began)
