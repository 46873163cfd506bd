"""The router and both sides: one request from arrival to the last word."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from forensics.lab import sglanglines as text
from forensics.lab.config import EngineSettings, Role
from forensics.lab.engine.decode import Decode, Emit
from forensics.lab.engine.journal import DECODE, PREFILL, Journal, now
from forensics.lab.engine.link import Link, TransferFailedError
from forensics.lab.engine.options import EngineOptions, LinkFault
from forensics.lab.engine.prefill import Prefill, RefusedError
from forensics.lab.engine.requests import Answer, Ask, Served
from forensics.lab.engine.reserve import Held
from forensics.lab.records import Epoch, GatewayEntry, Handoff, Intent, NodeHistory


@dataclass
class _Work:
    """One request under way."""

    ask: Ask
    handoff: Handoff
    emit: Emit
    said: list[str] = field(default_factory=list)

    async def word(self, word: str) -> None:
        """Keep a generated word, and hand it to the client."""
        if self.handoff.first_token_at is None:
            self.handoff.first_token_at = now()
        self.said.append(word)
        self.handoff.completion_tokens = len(self.said)
        await self.emit(word)


async def _nowhere(_: str) -> None:
    """Take a word of an answer that is not streamed."""


class LabEngine:
    """A router, one prefill and one decode, in this process.

    Args:
        options: sizes, fault, fixes.
        folder: where the logs go.
        seed: of request ids and rooms.
    """

    def __init__(self, options: EngineOptions, folder: Path, seed: int = 1) -> None:
        self.options = options
        self.served: list[Served] = []
        """The truth about every answer that left, in order."""
        self._random = Random(seed)
        self._journal = Journal(folder)
        self._prefill = Prefill(options, self._journal)
        self._decode = Decode(options)
        self._link = Link(options)
        self._numbers = 0
        for role in ("prefill", "decode"):
            self._started(role)

    def _started(self, role: Role) -> None:
        options = self.options
        pool = options.prefill_pool_tokens if role == "prefill" else options.decode_pool_tokens
        faulty = options.fault and not options.retire_rejected
        settings = EngineSettings(tp_size=1, dp_size=1)
        epoch = Epoch(now(), pool, settings, options.engine_version, faulty)
        name = PREFILL if role == "prefill" else DECODE
        node = NodeHistory(name, role, 1, (epoch,))
        self._journal.started(node, epoch, options)

    def named(self, ask: Ask) -> Ask:
        """Return the request with an id: its own, or a new one."""
        rid = ask.request_id or f"{self._random.getrandbits(128):032x}"
        return replace(ask, request_id=rid)

    async def answer(self, ask: Ask, emit: Emit = _nowhere) -> Answer:
        """Serve one request; ``emit`` is awaited with each word as it is generated."""
        ask = self.named(ask)
        work = _Work(ask, self._handoff(ask), emit)
        try:
            done = await self._run(work)
        except asyncio.CancelledError:
            self._close(work, self._answer(work, 499, error="client left", reason="abort"))
            raise
        self._close(work, done)
        return done

    def _handoff(self, ask: Ask) -> Handoff:
        self._numbers += 1
        rid = str(ask.request_id)
        room = self._random.getrandbits(63) | 1 << 40
        intent = Intent(
            rid, ask.tenant, 0, now(), len(ask.words), ask.wanted, "stop", "serve", 0, 0
        )
        return Handoff(self._numbers, intent, 0, room, rid, PREFILL, 0, DECODE, 0)

    async def _run(self, work: _Work) -> Answer:
        count, options = len(work.ask.words), self.options
        if count >= options.context_tokens:
            return self._answer(work, 400, error=text.over_context(count, options.context_tokens))
        if options.edge_reject and count >= options.prefill_limit:
            return self._answer(work, 400, error=text.too_long(count, options.prefill_limit))
        if count >= options.decode_limit:
            rid = work.handoff.intent.request_id
            self._journal.say(DECODE, text.exceeds(count, options.decode_limit, rid), " TP0")
            return self._answer(work, 400, error=text.too_long(count, options.decode_limit))
        try:
            return await self._hand_over(work)
        except RefusedError as error:
            return self._answer(work, 400, error=str(error))
        except TransferFailedError:
            self._failed(work.handoff)
            return self._answer(work, 503, error="transfer failed", reason="error")

    async def _hand_over(self, work: _Work) -> Answer:
        handoff, ask = work.handoff, work.ask
        handoff.decode_received_at = handoff.prefill_received_at = now()
        wanted = min(ask.wanted, self.options.decode_pool_tokens - len(ask.words))
        async with self._decode.reserve.hold(len(ask.words), wanted) as held:
            handoff.reserved_at, handoff.reserved_pages = now(), len(held.pages)
            try:
                await self._transfer(work, held)
                await self._decode.generate(held, wanted, work.word)
            finally:
                handoff.released_at = handoff.finished_at = now()
        self._journal.say(DECODE, text.decode_stats(handoff), " TP0")
        return self._answer(work, 200)

    async def _transfer(self, work: _Work, held: Held) -> None:
        handoff = work.handoff
        tokens = self._prefill.admit(handoff, work.ask.words)
        async with self._prefill.reserve.hold(len(tokens)) as computed:
            await self._prefill.forward(handoff, computed, tokens)
            began = now()
            arrived, fault = await self._send(computed, held)
        self._died(fault)
        handoff.transferred_at, handoff.transfer = now(), max(1, now() - began)
        handoff.transferred_pages, handoff.transfer_status = arrived, "complete"
        self._sent(handoff, len(computed.pages))
        if self.options.check_length and arrived < (handoff.reserved_pages or 0):
            handoff.transfer_status = "failed"
            raise TransferFailedError("short")

    async def _send(self, computed: Held, held: Held) -> tuple[int, LinkFault]:
        sending = self._link.send(computed.memory, computed.pages, held.memory, held.pages)
        try:
            return await asyncio.wait_for(sending, self.options.transfer_timeout)
        except TimeoutError:
            raise TransferFailedError("timed out") from None

    def _died(self, fault: LinkFault) -> None:
        """Start the side anew that died under a transfer."""
        if fault is LinkFault.KILL_PREFILL:
            self._prefill.reserve.restart()
            self._started("prefill")
        elif fault is LinkFault.KILL_DECODE:
            self._decode.reserve.restart()
            self._started("decode")
        else:
            return
        raise TransferFailedError("a side died")

    def _sent(self, handoff: Handoff, pages: int) -> None:
        """Log prefill's view: what it sent, whatever became of it."""
        arrived, handoff.transferred_pages = handoff.transferred_pages, pages
        if pages < (handoff.reserved_pages or 0):
            self._journal.say(PREFILL, text.state_mismatch(handoff), " TP0")
        self._journal.say(PREFILL, text.prefill_stats(handoff), " TP0")
        handoff.transferred_pages = arrived

    def _failed(self, handoff: Handoff) -> None:
        handoff.transfer_status = "failed"
        handoff.completion_tokens = handoff.completion_tokens or 0
        for node, side in ((PREFILL, "Prefill"), (DECODE, "Decode")):
            self._journal.say(node, text.transfer_failed(handoff, side), " TP0")

    def _answer(
        self, work: _Work, status: int, error: str | None = None, reason: str = "stop"
    ) -> Answer:
        rid, count = work.handoff.intent.request_id, len(work.ask.words)
        return Answer(rid, status, count, tuple(work.said), error, reason)

    def _close(self, work: _Work, done: Answer) -> None:
        """Write what router and decode say of a finished request, and note the truth."""
        handoff = work.handoff
        handoff.http_status, handoff.finish_reason = done.status, done.finish_reason
        handoff.finished_at = handoff.finished_at or now()
        if self.options.log_transfers and handoff.reserved_pages is not None:
            self._journal.transfer(handoff)
        refused = done.status == 400
        entry = GatewayEntry(
            handoff.intent,
            now(),
            done.status,
            done.prompt_tokens,
            len(done.words),
            None if refused else done.finish_reason,
            rejection_code="input_too_long" if refused else None,
        )
        self._journal.gateway(entry)
        if done.words:
            self.served.append(Served.of(work.ask, done, handoff.transfer_id))
