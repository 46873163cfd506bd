"""Pages on their way from prefill to decode, and what can befall them."""

from __future__ import annotations

import asyncio

from forensics.lab.engine.memory import Memory
from forensics.lab.engine.options import EngineOptions, LinkFault


class TransferFailedError(Exception):
    """The hand-off broke, and both sides know it."""


class ClientLeftError(Exception):
    """The client hung up while pages were on their way."""


class Link:
    """Copies whole pages, rows that nobody meant to send included."""

    def __init__(self, options: EngineOptions) -> None:
        self._options = options
        self._sent = 0

    async def send(
        self, source: Memory, pages: list[int], target: Memory, reserved: list[int]
    ) -> tuple[int, LinkFault]:
        """Copy ``pages`` over the first of ``reserved``.

        Returns:
            Pages that arrived, and what befell them.
        """
        fault = self._fault(len(pages))
        if fault is LinkFault.DELAY:
            await asyncio.sleep(2 * self._options.transfer_timeout)
        numbers = range(len(pages))
        arriving = {
            LinkFault.DROP: [n for n in numbers if n != len(pages) // 2],
            LinkFault.DUPLICATE: [*numbers, *numbers],
            LinkFault.TRUNCATE: list(numbers[: len(pages) // 2]),
            LinkFault.KILL_PREFILL: list(numbers[: len(pages) // 2]),
            LinkFault.KILL_DECODE: list(numbers[: len(pages) // 2]),
            LinkFault.CLIENT_CANCEL: list(numbers[: len(pages) // 2]),
        }.get(fault, list(numbers))
        for number in arriving:
            target.page(reserved[number])[:] = source.page(pages[number])
            await asyncio.sleep(0)
        return len(arriving), fault

    def _fault(self, pages: int) -> LinkFault:
        """Return what this hand-off meets; one of a single page has no half to lose."""
        if pages < 2:
            return LinkFault.NONE
        self._sent += 1
        since = self._sent - self._options.link_fault_after
        due = since > 0 and since % self._options.link_fault_every == 0
        return self._options.link_fault if due else LinkFault.NONE
