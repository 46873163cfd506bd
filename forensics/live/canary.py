"""Two accounts, words that exist once, and the lengths at which a pool gives way.

A marker of one request in the answer to another shows foreign content: this, and no count,
is what confirms. That one's own last word comes back shows that the run could have seen it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import aiohttp

from forensics.errors import UsageError
from forensics.live.chat import Account, Reply, Server, send
from forensics.live.marker import hashed, new_marker
from forensics.live.plan import Sizes, Step, steps
from forensics.live.prompt import Measure, fillers, measured, prompt

_PROBE_WORDS, _PROBE_MARKERS = 128, 8


@dataclass(frozen=True)
class Planted:
    """Where a marker was put: which request, of which account."""

    request_id: str | None
    account: str


@dataclass(frozen=True)
class Hit:
    """A marker that turned up where it was not planted; the marker itself is not kept."""

    marker: str
    planted: Planted
    seen_request_id: str | None
    seen_at: str


@dataclass(frozen=True)
class Asked:
    """One request of the run with what came of it."""

    step: Step
    account: str
    reply: Reply
    fits: bool | None
    """Below the limit, at or over it, or too near it to say."""
    control: bool
    """Its own last word came back."""
    hits: tuple[Hit, ...]

    @property
    def verdict(self) -> str:
        """What this request shows, in a word or two."""
        if self.hits:
            return "foreign marker"
        if self.reply.fault is not None:
            return "no answer"
        served = self.reply.status == 200 and not self.reply.error_frame
        if self.fits is False:
            told = self.reply.refused or (self.reply.status == 200 and self.reply.error_frame)
            return "refused" if told else ("served what cannot fit" if served else "no clear 4xx")
        if not served:
            return "refused" if self.fits is None and self.reply.refused else "not served"
        return "clean" if self.control else "blind"


GOOD = {"clean", "refused"}


@dataclass
class Canary:
    """The run so far."""

    asked: list[Asked] = field(default_factory=list)

    @property
    def hits(self) -> list[Hit]:
        """All markers that turned up in foreign answers."""
        return [hit for one in self.asked for hit in one.hits]

    @property
    def seeing(self) -> bool:
        """The positive control: an answer that fits gave its own last word back."""
        return any(one.control and one.fits for one in self.asked)

    @property
    def passed(self) -> bool:
        """Nothing foreign, everything at an edge judged, and the control seen."""
        edges = [one for one in self.asked if one.step.name != "fill"]
        return self.seeing and not self.hits and all(one.verdict in GOOD for one in edges)


@dataclass(frozen=True)
class Plan:
    """What is to be asked: two accounts, sizes, fills of each account, pause in seconds."""

    server: Server
    accounts: tuple[Account, Account]
    sizes: Sizes
    fill: int = 6
    pause: float = 0.0

    def steps(self) -> list[Step]:
        """Return the requests in order."""
        return list(steps(self.sizes, self.fill))


async def run(plan: Plan, told: Callable[[Asked], None] = lambda _: None) -> Canary:
    """Ask everything of a plan, one request after the other; ``told`` hears of each.

    Raises:
        UsageError: the server does not count tokens, so lengths cannot be aimed at.
    """
    found, planted = Canary(), dict[str, Planted]()
    async with aiohttp.ClientSession() as client:
        measure = await _measure(client, plan)
        for step in plan.steps():
            one = await _one(client, plan, measure, step, planted)
            found.asked.append(one)
            told(one)
            await asyncio.sleep(plan.pause)
    return found


async def _measure(client: aiohttp.ClientSession, plan: Plan) -> Measure:
    counts = []
    shapes = ((1, 1), (2, 1), (1, 1 + _PROBE_MARKERS))
    for words, markers in shapes:
        text = fillers(new_marker(), words * _PROBE_WORDS, markers)
        reply = await send(client, plan.server, plan.accounts[0], text, stream=False)
        if reply.status != 200 or reply.prompt_tokens is None:
            why = reply.fault or f"HTTP {reply.status}"
            raise UsageError(f"the server gave no token count for a short prompt ({why})")
        counts.append(reply.prompt_tokens)
        await asyncio.sleep(plan.pause)
    measure = measured(counts[0], counts[1], counts[2], _PROBE_WORDS, _PROBE_MARKERS)
    if measure.word <= 0 or measure.marker <= 0:
        raise UsageError("the server's token counts do not grow with the prompt")
    return measure


async def _one(
    client: aiohttp.ClientSession,
    plan: Plan,
    measure: Measure,
    step: Step,
    planted: dict[str, Planted],
) -> Asked:
    marker, late = new_marker(), new_marker()
    account = plan.accounts[step.account]
    words = measure.words(step.tokens)
    text = prompt(marker, late, words)
    reply = await send(client, plan.server, account, text, stream=step.stream)
    planted |= dict.fromkeys((marker, late), Planted(reply.request_id, account.name))
    own = {marker, late}
    return Asked(
        step,
        account.name,
        reply,
        _fits(plan.sizes, measure.tokens(words), reply),
        late in reply.markers,
        tuple(_hits(reply, own, planted)),
    )


def _fits(sizes: Sizes, tokens: float, reply: Reply) -> bool | None:
    """Say whether a prompt is below the limit, by the server's own count where it gave one."""
    if reply.prompt_tokens is not None:
        return reply.prompt_tokens < sizes.limit
    if abs(tokens - sizes.limit) < 1 and tokens != int(tokens):
        return None
    return tokens < sizes.limit


def _hits(reply: Reply, own: set[str], planted: dict[str, Planted]) -> Iterator[Hit]:
    """Yield the foreign markers of an answer; one of an earlier run is foreign too."""
    for marker in sorted(reply.markers - own):
        source = planted.get(marker, Planted(None, "an earlier run"))
        yield Hit(hashed(marker), source, reply.request_id, reply.at)


def sentence(found: Canary) -> str:
    """Return what a run shows."""
    edges: Sequence[Asked] = [one for one in found.asked if one.step.name != "fill"]
    if found.hits:
        answers = sum(1 for one in found.asked if one.hits)
        return f"FAILED: {len(found.hits)} foreign markers in {answers} answers"
    if not found.seeing:
        return "FAILED: blind: no answer gave its own marker back, so none could show another's"
    odd = sorted({one.verdict for one in edges} - GOOD)
    if odd:
        return f"FAILED: no foreign marker, but {', '.join(odd)}"
    return f"passed: no foreign marker in {len(found.asked)} answers, and the control was seen"
