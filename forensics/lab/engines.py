"""One prefill rank and one decode rank: pools, queues, prefix cache, forward times."""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from random import Random

from forensics.lab.clock import MILLISECOND, Micros
from forensics.lab.pages import PagePool
from forensics.lab.records import Handoff


def pages_for(tokens: int, page_tokens: int) -> int:
    """Return the pages that `tokens` occupy."""
    return -(-tokens // page_tokens)


def forward_time(computed: int, cached: int, rng: Random) -> Micros:
    """Return the time of a prefill forward pass.

    Linear in the computed tokens (20,000 a second) plus attention, which grows with the
    product of computed tokens and the context they look at; four per cent of noise.
    """
    milliseconds = 55.0 + computed / 20.0 + computed * (cached + computed / 2.0) * 5e-8
    return round(milliseconds * rng.lognormvariate(0.0, 0.04) * MILLISECOND)


def step_time(prompt: int) -> Micros:
    """Return the time of one decode step: 22 ms and 60 ns a token of context."""
    return 22 * MILLISECOND + prompt * 6 // 100


@dataclass(slots=True)
class DecodeWork:
    """A hand-off on the decode side: the pages it holds and the most it will grow to."""

    handoff: Handoff
    rng: Random
    total_pages: int
    pages: list[int] = field(default_factory=list)
    cancelled: bool = False
    running: bool = False


@dataclass(slots=True)
class PrefillWork:
    """The same hand-off on the prefill side, with the pages it computes and those it shares."""

    decode: DecodeWork
    tokens: int
    queued_at: Micros
    cached_pages: list[int] = field(default_factory=list)
    own_pages: list[int] = field(default_factory=list)

    @property
    def handoff(self) -> Handoff:
        """The hand-off this work is for."""
        return self.decode.handoff

    @property
    def session(self) -> int:
        """The conversation whose pages may be shared."""
        return self.handoff.intent.session


class PrefillRank:
    """A rank that computes one prompt at a time and keeps full pages as prefix cache."""

    def __init__(self, pool_tokens: int, page_tokens: int) -> None:
        self.page_tokens = page_tokens
        self.pool = PagePool(pool_tokens // page_tokens)
        self.queue: deque[PrefillWork] = deque()
        self.busy = False
        self.in_flight = 0
        self._cache: OrderedDict[int, list[int]] = OrderedDict()
        self._cached_pages = 0

    @property
    def idle(self) -> bool:
        """Nothing is queued, computed or in transfer."""
        return not self.queue and not self.in_flight

    def next_work(self) -> PrefillWork | None:
        """Take the next prompt off the queue and give it pages, if it fits now."""
        if self.busy or not self.queue:
            return None
        work = self.queue[0]
        needed = pages_for(work.tokens, self.page_tokens)
        shared = min(len(self._cache.get(work.session, ())), (work.tokens - 1) // self.page_tokens)
        # One page of slack, as the engine's admission asks for: a prompt within two pages of
        # the pool passes the input limit and never runs. Plans must keep out of that band.
        if needed + 1 - shared > self.pool.available + self._cached_pages - shared:
            return None
        self.queue.popleft()
        self._admit(work, needed, shared)
        return work

    def _admit(self, work: PrefillWork, needed: int, shared: int) -> None:
        found = self._cache.pop(work.session, [])
        self._cached_pages -= len(found)
        work.cached_pages, rest = found[:shared], found[shared:]
        self.pool.give_back(rest)
        missing = needed - shared
        while missing + 1 > self.pool.available and self._cache:
            _, evicted = self._cache.popitem(last=False)
            self._cached_pages -= len(evicted)
            self.pool.give_back(evicted)
        computed = work.tokens - shared * self.page_tokens
        work.own_pages = self.pool.take_prompt(computed, self.page_tokens, missing)
        self.busy = True
        self.in_flight += 1

    def finish(self, work: PrefillWork) -> None:
        """Give the request's pages back, or keep the full ones for the next turn."""
        self.in_flight -= 1
        pages = work.cached_pages + work.own_pages
        full = work.tokens // self.page_tokens
        self.pool.give_back(pages[full:])
        if full and not work.handoff.placeholder:
            older = self._cache.pop(work.session, [])
            self.pool.give_back(older)
            self._cache[work.session] = pages[:full]
            self._cached_pages += full - len(older)


class DecodeRank:
    """A rank that reserves all pages of a prompt at hand-off and grows page by page."""

    def __init__(self, pool_tokens: int, page_tokens: int) -> None:
        self.page_tokens = page_tokens
        self.pool = PagePool(pool_tokens // page_tokens)
        self.queue: deque[DecodeWork] = deque()
        self.running = 0
        self._promised = 0

    @property
    def idle(self) -> bool:
        """No request is queued or holds pages."""
        return not self.queue and self._promised == 0

    def next_work(self) -> DecodeWork | None:
        """Reserve the pages of the next request in the queue, if it fits with its growth."""
        while self.queue and self.queue[0].cancelled:
            self.queue.popleft()
        # One page of slack: a probe may hold it.
        if not self.queue or self._promised + self.queue[0].total_pages >= self.pool.pages:
            return None
        work = self.queue.popleft()
        prompt = work.handoff.intent.prompt_tokens
        self._promised += work.total_pages
        pages = pages_for(prompt, self.page_tokens)
        work.pages = self.pool.take_prompt(prompt, self.page_tokens, pages)
        return work

    def grow(self, work: DecodeWork) -> int:
        """Take one more page for the generated tokens and return it."""
        page = self.pool.take_step(max(1, self.running))
        work.pages.append(page)
        return page

    def release(self, work: DecodeWork) -> None:
        """Give back everything the request held."""
        self.pool.give_back(work.pages)
        self._promised -= work.total_pages
