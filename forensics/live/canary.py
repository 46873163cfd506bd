"""Two accounts, words that exist once, and the lengths at which a pool gives way.

A marker of one request in the answer to another shows foreign content: this, and no count,
is what confirms. That one's own last word comes back shows that the run could have seen it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import aiohttp

from forensics.errors import UsageError
from forensics.live.chat import Account, Server, send
from forensics.live.fetch import session
from forensics.live.marker import hashed, new_marker
from forensics.live.plan import Sizes, Step, steps
from forensics.live.prompt import Measure, fillers, measured, prompt
from forensics.live.reply import Reply
from forensics.live.verdict import Asked, Canary, Hit, Planted

_PROBE_WORDS, _PROBE_MARKERS = 128, 8


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
    async with session() as client:
        measure = await _measure(client, plan, planted)
        for step in plan.steps():
            one = await _one(client, plan, measure, step, planted)
            found.asked.append(one)
            told(one)
            await asyncio.sleep(plan.pause)
    return found


async def _measure(
    client: aiohttp.ClientSession, plan: Plan, planted: dict[str, Planted]
) -> Measure:
    counts = []
    shapes = ((1, 1), (2, 1), (1, 1 + _PROBE_MARKERS))
    for words, markers in shapes:
        marker, account = new_marker(), plan.accounts[0]
        text = fillers(marker, words * _PROBE_WORDS, markers)
        reply = await send(client, plan.server, account, text, stream=False)
        planted[marker] = Planted(reply.request_id, account.name)
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
        source = planted.get(marker, Planted(None, None))
        yield Hit(hashed(marker), source, reply.request_id, reply.at)
