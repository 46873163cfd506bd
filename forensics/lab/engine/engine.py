"""The router and both sides: one request from arrival to the last word."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random

from forensics.lab import sglanglines as text
from forensics.lab.config import EngineSettings, Role
from forensics.lab.engine.decode import Decode
from forensics.lab.engine.journal import DECODE, PREFILL, Journal, now
from forensics.lab.engine.link import ClientLeftError, TransferFailedError
from forensics.lab.engine.options import EngineOptions
from forensics.lab.engine.prefill import Prefill, RefusedError
from forensics.lab.engine.requests import Answer, Ask, Served
from forensics.lab.engine.transfer import Transfer
from forensics.lab.engine.work import Emit, Work
from forensics.lab.records import Epoch, GatewayEntry, Handoff, Intent, NodeHistory


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
        """The truth about every answer of which words left, in order."""
        self._random = Random(seed)
        self._journal = Journal(folder)
        self._prefill, self._decode = Prefill(options, self._journal), Decode(options)
        self._transfer = Transfer(
            options, self._journal, self._prefill, self._decode, self._started
        )
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

    async def answer(self, ask: Ask, emit: Emit | None = None) -> Answer:
        """Serve one request.

        Args:
            ask: the request.
            emit: of a stream: awaited with each word as it is generated. Without it the
                answer is sent as a whole, so that nothing leaves before it is complete.

        Raises:
            asyncio.CancelledError: the client left.
        """
        ask = self.named(ask)
        work = Work(ask, self._handoff(ask), emit)
        left = partial(work.answer, 499, error="client left", reason="abort")
        try:
            done = await self._run(work)
        except asyncio.CancelledError:
            self._close(work, left())
            raise
        except ClientLeftError:
            done = left()
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

    async def _run(self, work: Work) -> Answer:
        count, options = len(work.ask.words), self.options
        if count >= options.context_tokens:
            return work.answer(400, error=text.over_context(count, options.context_tokens))
        if options.edge_reject and count >= options.prefill_limit:
            return work.answer(400, error=text.too_long(count, options.prefill_limit))
        if count >= options.decode_limit:
            rid = work.handoff.intent.request_id
            self._journal.say(DECODE, text.exceeds(count, options.decode_limit, rid), " TP0")
            return work.answer(400, error=text.too_long(count, options.decode_limit))
        try:
            return await self._hand_over(work)
        except RefusedError as error:
            return work.answer(400, error=str(error))
        except TransferFailedError:
            self._failed(work.handoff)
            return work.answer(503, error="transfer failed", reason="error")

    async def _hand_over(self, work: Work) -> Answer:
        handoff, ask = work.handoff, work.ask
        handoff.decode_received_at = handoff.prefill_received_at = now()
        wanted = min(ask.wanted, self.options.decode_pool_tokens - len(ask.words))
        async with self._decode.reserve.hold(len(ask.words), wanted) as held:
            handoff.reserved_at, handoff.reserved_pages = now(), len(held.pages)
            try:
                await self._transfer.bring(work, held)
                await self._decode.generate(held, wanted, work.word)
            finally:
                handoff.released_at = handoff.finished_at = now()
        handoff.completion_tokens = len(work.said)
        self._journal.say(DECODE, text.decode_stats(handoff), " TP0")
        return work.answer(200)

    def _failed(self, handoff: Handoff) -> None:
        handoff.transfer_status = "failed"
        for node, side in ((PREFILL, "Prefill"), (DECODE, "Decode")):
            self._journal.say(node, text.transfer_failed(handoff, side), " TP0")

    def _close(self, work: Work, done: Answer) -> None:
        """Write what router and decode say of a finished request, and note the truth."""
        handoff, broken = work.handoff, done.error is not None and work.streaming
        left = 200 if broken and done.status != 499 else done.status
        handoff.http_status, handoff.finish_reason = left, done.finish_reason
        handoff.finished_at = handoff.finished_at or now()
        handoff.completion_tokens = len(done.words)
        if self.options.log_transfers and handoff.reserved_pages is not None:
            self._journal.transfer(handoff)
        refused = done.status == 400
        entry = GatewayEntry(
            handoff.intent,
            now(),
            left,
            done.prompt_tokens,
            len(done.words),
            None if refused else done.finish_reason,
            stream_error=broken and left == 200,
            rejection_code="input_too_long" if refused else None,
        )
        self._journal.gateway(entry)
        if done.words:
            self.served.append(Served.of(work.ask, done, handoff.transfer_id))
