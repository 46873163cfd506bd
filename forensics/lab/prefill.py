"""The prefill side of a hand-off, with both faults: the small pool and the placeholder."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from forensics.lab.clock import MILLISECOND
from forensics.lab.config import LabConfig
from forensics.lab.engines import DecodeWork, PrefillRank, PrefillWork, forward_time, pages_for
from forensics.lab.loop import Loop
from forensics.lab.machines import Machines
from forensics.lab.records import Handoff
from forensics.lab.stale import tail_of

Arrived = Callable[[DecodeWork, int], None]


class PrefillSide:
    """Counts the prompt, computes it and sends its pages to decode."""

    def __init__(
        self,
        config: LabConfig,
        loop: Loop,
        machines: Machines,
        handoffs: list[Handoff],
        arrived: Arrived,
    ) -> None:
        self._config = config
        self._loop = loop
        self._machines = machines
        self._handoffs = handoffs
        self._arrived = arrived

    def refuses(self, handoff: Handoff) -> bool:
        """Whether the prompt is rejected and the rejection is sound: it ends the request."""
        return handoff.over_limit and not self._hands_over(handoff)

    def count_prompt(self, handoff: Handoff) -> int:
        """Count the prompt as prefill does: a rejected one has become one token."""
        if handoff.over_limit and self._hands_over(handoff):
            handoff.prefill_rejected = handoff.placeholder = True
        tokens = 1 if handoff.placeholder else handoff.intent.prompt_tokens
        handoff.prefill_prompt_tokens = tokens
        return tokens

    def reach(self, work: DecodeWork) -> None:
        """Decode has reserved its pages: queue the prompt."""
        if not work.cancelled:
            tokens = self.count_prompt(work.handoff)
            rank = self._machines.prefill(work.handoff)
            rank.queue.append(PrefillWork(work, tokens, self._loop.now))
            self._compute(rank)

    def _hands_over(self, handoff: Handoff) -> bool:
        return self._machines.epoch(handoff.prefill_node).hands_over_rejected

    def _compute(self, rank: PrefillRank) -> None:
        work = rank.next_work()
        if work is None:
            return
        handoff = work.handoff
        handoff.queued = self._loop.now - work.queued_at
        handoff.cached_tokens = len(work.cached_pages) * rank.page_tokens
        handoff.prefill_tokens = work.tokens - handoff.cached_tokens
        forward = forward_time(handoff.prefill_tokens, handoff.cached_tokens, work.decode.rng)
        handoff.forward = forward
        if handoff.placeholder:
            handoff.prefill_tail = tail_of(work.own_pages[0], rank.pool, self._handoffs)
        rank.pool.write(work.own_pages, handoff.number)
        self._loop.after(forward, partial(self._send, rank, work))

    def _send(self, rank: PrefillRank, work: PrefillWork) -> None:
        """Send as many pages as the prompt has on this side, and call that complete."""
        rank.busy = False
        pages = pages_for(work.tokens, rank.page_tokens)
        duration = 12 * MILLISECOND + 40 * pages + work.decode.rng.randint(0, 4_000)
        work.handoff.transfer = duration
        self._loop.after(duration, partial(self._sent, rank, work, pages))
        self._compute(rank)

    def _sent(self, rank: PrefillRank, work: PrefillWork, pages: int) -> None:
        rank.finish(work)
        self._arrived(work.decode, pages)
        self._compute(rank)
