"""Two accounts, words that exist once, and the lengths at which a pool gives way.

A marker of one request in the answer to another shows foreign content: this, and no count,
is what confirms. That one's own last word comes back shows that the run could have seen it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import aiohttp

from forensics.live.chat import Account, Server, send
from forensics.live.fetch import session
from forensics.live.marker import hashed, new_marker
from forensics.live.plan import MEASURE, Sizes, Step, steps
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

    A server that gives no token counts cannot be aimed at: the run ends there, and fails.
    """
    found, planted = Canary(), dict[str, Planted]()

    def keep(one: Asked) -> None:
        found.asked.append(one)
        told(one)

    async with session() as client:
        try:
            measure = await _measure(client, plan, planted, keep)
        except _UnaimedError as error:
            found.unaimed = str(error)
            return found
        for step in plan.steps():
            keep(await _one(client, plan, measure, step, planted))
            await asyncio.sleep(plan.pause)
    return found


class _UnaimedError(Exception):
    """The server's token counts say nothing of the prompt's length; quotes nothing."""


async def _measure(
    client: aiohttp.ClientSession,
    plan: Plan,
    planted: dict[str, Planted],
    keep: Callable[[Asked], None],
) -> Measure:
    counts = []
    for words, markers in ((1, 1), (2, 1), (1, 1 + _PROBE_MARKERS)):
        marker, account = new_marker(), plan.accounts[0]
        text = fillers(marker, words * _PROBE_WORDS, markers)
        step = Step(MEASURE, words * _PROBE_WORDS + markers, 0, stream=False)
        one = await _sent(client, plan, step, text, {marker}, planted)
        keep(one)
        if not one.measured or one.reply.prompt_tokens is None:
            why = one.reply.fault or f"HTTP {one.reply.status}"
            raise _UnaimedError(f"{account.name} got no token count for a short prompt ({why})")
        counts.append(one.reply.prompt_tokens)
        await asyncio.sleep(plan.pause)
    measure = measured(counts[0], counts[1], counts[2], _PROBE_WORDS, _PROBE_MARKERS)
    if measure.word <= 0 or measure.marker <= 0:
        raise _UnaimedError("the server's token counts do not grow with the prompt")
    return measure


async def _one(
    client: aiohttp.ClientSession,
    plan: Plan,
    measure: Measure,
    step: Step,
    planted: dict[str, Planted],
) -> Asked:
    marker, late = new_marker(), new_marker()
    words = measure.words(step.tokens)
    one = await _sent(client, plan, step, prompt(marker, late, words), {marker, late}, planted)
    fits = _fits(plan.sizes, measure.tokens(words), one.reply)
    return replace(one, fits=fits, control=_control(one, late))


async def _sent(
    client: aiohttp.ClientSession,
    plan: Plan,
    step: Step,
    text: str,
    own: set[str],
    planted: dict[str, Planted],
) -> Asked:
    """Ask once, note where the prompt's ``own`` markers are, and search the answer."""
    account = plan.accounts[step.account]
    reply = await send(client, plan.server, account, text, stream=step.stream)
    planted |= dict.fromkeys(own, Planted(reply.request_id, account.name))
    hits = tuple(_hits(reply, own, planted))
    return Asked(step, account.name, reply, fits=True, control=None, hits=hits)


def _control(one: Asked, late: str) -> Hit | None:
    """Return the last word of a prompt where its own answer gave it back: all of it was read."""
    reply = one.reply
    if late not in reply.markers:
        return None
    planted = Planted(reply.request_id, one.account)
    return Hit(hashed(late), planted, reply.request_id, reply.ended or reply.at)


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
