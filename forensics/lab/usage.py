"""How full a decode rank was at an instant, from what its hand-offs held."""

from __future__ import annotations

from bisect import bisect_right

from forensics.lab.clock import Micros
from forensics.lab.engines import pages_for
from forensics.lab.records import Handoff, LabRun


class Usage:
    """The hand-offs of one decode server that held pages, by rank and start."""

    def __init__(self, run: LabRun, node: str) -> None:
        self._page = run.config.page_tokens
        self._by_rank: dict[int, list[tuple[Micros, int, Handoff]]] = {}
        for handoff in run.handoffs:
            if handoff.decode_node == node and handoff.reserved_at is not None:
                held = (handoff.reserved_at, handoff.number, handoff)
                self._by_rank.setdefault(handoff.decode_rank, []).append(held)
        for rank in self._by_rank.values():
            rank.sort(key=lambda held: held[:2])
        self._longest = max(
            (
                h.released_at - h.reserved_at
                for h in run.handoffs
                if h.released_at and h.reserved_at
            ),
            default=0,
        )

    def at(self, rank: int, instant: Micros) -> tuple[int, int]:
        """Return the requests running and the tokens in use, whole pages counted."""
        held = self._by_rank[rank]
        last = bisect_right(held, instant, key=lambda item: item[0])
        running = tokens = 0
        for reserved_at, _, handoff in reversed(held[:last]):
            if reserved_at < instant - self._longest:
                break
            if (handoff.released_at or 0) > instant:
                running += handoff.first_token_at is not None and handoff.first_token_at <= instant
                tokens += self._tokens(handoff, instant)
        return running, tokens

    def _tokens(self, handoff: Handoff, instant: Micros) -> int:
        rows = handoff.intent.prompt_tokens
        if handoff.first_token_at is not None and handoff.first_token_at <= instant:
            steps = (instant - handoff.first_token_at) // handoff.step + 1
            rows += min(steps, handoff.intent.completion_tokens - 1)
        return pages_for(rows, self._page) * self._page
