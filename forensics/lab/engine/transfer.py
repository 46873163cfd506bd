"""A hand-off from prefill to decode: admission, forward pass, the pages on their way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from forensics.lab import sglanglines as text
from forensics.lab.config import Role
from forensics.lab.engine.decode import Decode
from forensics.lab.engine.journal import PREFILL, Journal, now
from forensics.lab.engine.link import ClientLeftError, Link, TransferFailedError
from forensics.lab.engine.options import EngineOptions, LinkFault
from forensics.lab.engine.prefill import Prefill
from forensics.lab.engine.reserve import Held
from forensics.lab.engine.work import Work
from forensics.lab.records import Handoff


class Transfer:
    """Brings the pages of a prompt to the decode side, as far as the link lets it.

    Args:
        options: the fixes, the link's fault, the time-out.
        journal: where prefill's lines go.
        prefill: the side that computes and sends.
        decode: the side that waits.
        restarted: told which side died and started anew.
    """

    def __init__(
        self,
        options: EngineOptions,
        journal: Journal,
        prefill: Prefill,
        decode: Decode,
        restarted: Callable[[Role], None],
    ) -> None:
        self._options, self._journal = options, journal
        self._prefill, self._decode = prefill, decode
        self._restarted = restarted
        self._link = Link(options)

    async def bring(self, work: Work, held: Held) -> None:
        """Fill the pages held, or some of them.

        Raises:
            RefusedError: prefill refused the prompt and says so.
            TransferFailedError: it broke, and both sides know it.
            ClientLeftError: the client left on the way.
        """
        handoff = work.handoff
        tokens = self._prefill.admit(handoff, work.ask.words)
        async with self._prefill.reserve.hold(len(tokens)) as computed:
            await self._prefill.forward(handoff, computed, tokens)
            began = now()
            arrived, fault = await self._send(computed, held)
            self._died(fault)
            if self._prefill.reserve.lost(computed) or self._decode.reserve.lost(held):
                raise TransferFailedError("a side restarted")
        handoff.transferred_at, handoff.transfer = now(), max(1, now() - began)
        handoff.transferred_pages, handoff.transfer_status = arrived, "complete"
        self._sent(handoff, len(computed.pages))
        if self._options.check_length and arrived < (handoff.reserved_pages or 0):
            handoff.transfer_status = "failed"
            raise TransferFailedError("short")

    async def _send(self, computed: Held, held: Held) -> tuple[int, LinkFault]:
        """Send, and give up after a while: pages still on their way are then kept aside."""
        sending = asyncio.ensure_future(
            self._link.send(computed.memory, computed.pages, held.memory, held.pages)
        )
        computed.arriving = held.arriving = sending
        done, _ = await asyncio.wait({sending}, timeout=self._options.transfer_timeout)
        if not done:
            raise TransferFailedError("timed out")
        return sending.result()

    def _died(self, fault: LinkFault) -> None:
        """Start the side anew that died under a transfer, or see the client leave."""
        if fault is LinkFault.CLIENT_CANCEL:
            raise ClientLeftError
        if fault is LinkFault.KILL_PREFILL:
            self._prefill.reserve.restart()
            self._restarted("prefill")
        elif fault is LinkFault.KILL_DECODE:
            self._decode.reserve.restart()
            self._restarted("decode")

    def _sent(self, handoff: Handoff, pages: int) -> None:
        """Log prefill's view: what it sent, whatever became of it."""
        arrived, handoff.transferred_pages = handoff.transferred_pages, pages
        if pages < (handoff.reserved_pages or 0):
            self._journal.say(PREFILL, text.state_mismatch(handoff), " TP0")
        self._journal.say(PREFILL, text.prefill_stats(handoff), " TP0")
        handoff.transferred_pages = arrived
