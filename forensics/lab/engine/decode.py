"""The decode side: it reserves all pages of a prompt, waits for them, and answers."""

from __future__ import annotations

import asyncio

from forensics.lab.engine.link import TransferFailedError
from forensics.lab.engine.options import EngineOptions
from forensics.lab.engine.reserve import Held, Reserve
from forensics.lab.engine.words import answer
from forensics.lab.engine.work import Emit


class Decode:
    """Reserves, waits and generates."""

    def __init__(self, options: EngineOptions) -> None:
        self._options = options
        self.reserve = Reserve(
            options.decode_pool_tokens, options.page_tokens, clear=options.clear_pages
        )

    async def generate(self, held: Held, wanted: int, emit: Emit) -> None:
        """Answer from what the reserved rows hold, whoever wrote them: a word a step.

        Raises:
            TransferFailedError: the side restarted meanwhile.
        """
        said = answer(held.memory.read(held.pages, held.tokens), wanted)
        for step, word in enumerate(said):
            await asyncio.sleep(self._options.step_seconds)
            if self.reserve.lost(held):
                raise TransferFailedError("decode restarted")
            self.reserve.write(held, held.tokens + step, word)
            await emit(word)
